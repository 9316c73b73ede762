#ifndef SYS_EXECUTABLE_H
#define SYS_EXECUTABLE_H

/* Whether a program could be executed, told without executing it. */

/* Bytes for the path of an interpreter with its NUL, as the kernel has it. */
#define EXECUTABLE_INTERPRETER_SIZE 256

/*
 * 0, or -1 and errno: EISDIR, or what execve(2) would say of the file, or of
 * the interpreter that a script names. The path of the latter is then in
 * interpreter, which has EXECUTABLE_INTERPRETER_SIZE bytes and is "" else.
 * What only execve(2) finds, as a format that this machine does not know, is
 * not looked at. Safe in a child that shares our memory.
 */
int executable_check(const char *path, char *interpreter);

#endif
