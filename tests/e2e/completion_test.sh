#!/bin/sh
# Completion of apppoolctl in bash and zsh.

file_setup() {
	{
		app web </dev/null
		app shop </dev/null
	} | conf
	pool_start
	PATH=$BIN:$PATH
	export PATH
}

# bash_offers WORD...: for the last word.
bash_offers() {
	bash -c '
. contrib/completion/apppoolctl.bash
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_apppoolctl
printf "%s\n" "${COMPREPLY[@]}"' bash apppoolctl "$@" | LC_ALL=C sort | xargs
}

# The same in zsh, which filters later by what the word begins with.
zsh_offers() {
	zsh -fc '
words=("$@") CURRENT=$#
compadd() { shift; printf "%s\n" ${(P)1} }
_files() { print FILES }
. contrib/completion/_apppoolctl' zsh apppoolctl "$@" | LC_ALL=C sort | xargs
}

assert_offers() {
	assertEquals "bash: $*" "$1" "$(shift; bash_offers "$@")"
}

testCommandsAreCompleted() {
	assert_offers 'reload' rel
	assert_offers 'status' stat
	assert_offers 'wait' help wa
}

testAppsAreThoseOfTheDaemonThatIsMeant() {
	assert_offers 'shop web' -s "$DIR/control.sock" status ''
	assert_offers 'web' -s "$DIR/control.sock" wait --timeout 5s w
	assert_offers 'shop' -c "$DIR/pool.conf" ping sh
	assert_offers 'web' -s "$DIR/control.sock" health --alive w
	assert_offers 'web' -s "$DIR/control.sock" agent -n 2 w
	assert_offers '' -s "$DIR/none.sock" status ''
	assert_offers '' -s "$DIR/control.sock" reload ''
}

testIdentifiersAreCompleted() {
	id=$(status apps web workers 0 id)
	assert_offers "$id" -s "$DIR/control.sock" detach "$id"
}

testOptionsAreThoseOfTheCommand() {
	assert_offers '--timeout' wait --t
	assert_offers '--path --timeout' ping --
	assert_offers '-V -c -h -j -s' -
	assert_offers '' wait --timeout ''
}

testZshOffersTheSame() {
	command -v zsh >/dev/null || { skip 'needs zsh'; return; }
	assertContains "$(zsh_offers '')" ' status '
	assertEquals 'shop web' \
	    "$(zsh_offers -s "$DIR/control.sock" status '')"
	assertEquals "$(status apps '*' workers '*' id | LC_ALL=C sort | xargs)" \
	    "$(zsh_offers -s "$DIR/control.sock" detach '')"
	assertEquals '--timeout' "$(zsh_offers wait --)"
	assertEquals FILES "$(zsh_offers -c '')"
	assertEquals '' "$(zsh_offers wait --timeout '')"
}

. tests/e2e/lib.sh
