#!/bin/sh
# tests/house, on a house of two rooms that is in order until a test spoils it,
# and on this one.

setUp_house() {
	rm -rf "$DIR/house"
	mkdir -p "$DIR/house/tests" "$DIR/house/lib/hall" "$DIR/house/lib/attic"
	printf 'hall 200\nattic 1000\n' >"$DIR/house/tests/rooms"
	printf '#ifndef H\n#define H\nint hall_open(int);\n#endif\n' \
	    >"$DIR/house/lib/hall/hall.h"
	{
		echo '#include "hall/hall.h"'
		body 'int' 'hall_open(int door)' 12
	} >"$DIR/house/lib/hall/hall.c"
	{
		echo '#include "hall/hall.h"'
		body 'static int' 'attic_look(void)' 12 'hall_open(1);'
	} >"$DIR/house/lib/attic/attic.c"
}

# body TYPE NAME LINES [LINE]: a function.
body() {
	printf '\n%s\n%s\n{\n' "$1" "$2"
	for line in $(seq "$3"); do
		printf '\t%s\n' "${4:-x = $line;}"
	done
	echo '}'
}

# house: what it says, without the table, is in $SAID.
house() {
	"$PYTHON" tests/house "$@" "$DIR/house" >"$DIR/said"
	RC=$?
	SAID=$(sed '1,/^[0-9]* functions are exported/d' "$DIR/said")
}

assert_fault() {
	house
	assertEquals "$1" "$SAID"
	assertEquals 1 "$RC"
}

testAHouseInOrderIsATableOfItsRooms() {
	setUp_house
	house
	assertEquals "0 " "$RC $SAID"
	assertEquals 'room files headers lines budget functions median
attic 1 0 18 1000 1 12
hall 2 1 22 200 1 12
together 3 1 40 1200 2 12
1 functions are exported, 1 for one other file' "$(tr -s ' ' <"$DIR/said")"
	house -v
	assertEquals "0 lib/hall/hall.c: hall_open() is for lib/attic/attic.c alone" \
	    "$RC $SAID"
}

testARoomHasABudgetOfLines() {
	setUp_house
	echo 'attic 17' >"$DIR/house/tests/rooms"
	assert_fault 'lib/attic: 18 lines, its budget is 17
lib/hall: 22 lines, its budget is 0'
}

testAFunctionHas80LinesAtMost() {
	setUp_house
	for lines in 80 81; do
		body 'static void __attribute__((format(printf, 1, 2)))' \
		    "say_$lines(const char *fmt, ...)" $lines
	done >>"$DIR/house/lib/attic/attic.c"
	assert_fault 'lib/attic/attic.c: say_81() has 81 lines'
}

testAStructHas40MembersAtMost() {
	setUp_house
	for most in 39 40; do
		echo "struct of_$most {"
		echo '	void (*call)(int, int);	/* a, b; */'
		echo '	struct { int x; int y; } place;'
		seq 3 $((most - 1)) | sed 's/.*/	int a&;/'
		echo '	int b[2], c;'
		echo '};'
	done >>"$DIR/house/lib/hall/hall.h"
	assert_fault 'lib/hall/hall.h: struct of_40 has 41 members'
}

testAStaticFunctionHasANameOfItsOwn() {
	setUp_house
	body 'static int' 'attic_look(int far)' 12 >>"$DIR/house/lib/hall/hall.c"
	body 'static int' 'attic_look(int near)' 12 >>"$DIR/house/lib/hall/hall.c"
	assert_fault 'attic_look() is the name of 2 functions: lib/attic/attic.c lib/hall/hall.c'
}

testAHeaderIsIncludedByTwoFiles() {
	setUp_house
	: >"$DIR/house/lib/attic/attic.h"
	echo '#include "attic/attic.h"' >>"$DIR/house/lib/attic/attic.c"
	assert_fault 'lib/attic/attic.h: no two files include it'
}

testAtMost330FunctionsAreExportedForOneOtherFile() {
	setUp_house
	echo 'hall 9000' >>"$DIR/house/tests/rooms"
	for number in $(seq 329); do
		body int "hall_$number(void)" 12 >>"$DIR/house/lib/hall/hall.c"
		echo "hall_$number();" >>"$DIR/house/lib/attic/attic.c"
	done
	house
	assertEquals "0 " "$RC $SAID"
	body int "hall_330(void)" 12 >>"$DIR/house/lib/hall/hall.c"
	echo "hall_330();" >>"$DIR/house/lib/attic/attic.c"
	assert_fault '331 exports are for one other file, at most 330 may be'
}

testHalfOfTheFunctionsHave12Lines() {
	setUp_house
	body int 'hall_wipe(void)' 11 >>"$DIR/house/lib/hall/hall.c"
	body int 'hall_wash(void)' 11 >>"$DIR/house/lib/hall/hall.c"
	assert_fault 'a function has 11.5 lines in the median, 12 are the least'
}

testThisHouseIsInOrder() {
	"$PYTHON" tests/house >"$DIR/said"
	assertContains "$(cat "$DIR/said")" 'functions are exported'
	assertEquals '' "$(sed '1,/functions are exported/d' "$DIR/said")"
}

. tests/e2e/lib.sh
