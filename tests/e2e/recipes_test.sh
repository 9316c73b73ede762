#!/bin/sh
# The recipes and examples of pool.conf(5), and the sites of apppool-guide(7),
# are there to be copied.

# The examples of the section, in files $DIR/recipe.1 and so on. Programs and
# folders that are not on this machine become some that are.
file_setup() {
	sed -n '/^\.Sh RECIPES/,/^\.Sh NAMES/p' man/pool.conf.5 |
	    sed -e 's/\\e/\\/g' -e 's/\\-/-/g' \
	        -e "s,\"/srv/[a-z]*/worker\",\"$TWORKER\"," \
	        -e "s,unix:/run/,unix:$DIR/," |
	    awk -v "file=$DIR/recipe" '
		/^\.Bd -literal/ { n++; inside = 1; next }
		/^\.Ed/ { inside = 0; close(file "." n) }
		inside { print > (file "." n) }'
	awk -v "file=$DIR/example" '
		/^\.Bd -literal/ { n++; inside = 1; next }
		/^\.Ed/ { inside = 0; close(file "." n) }
		inside { print > (file "." n) }' man/pool.conf.5 \
	    man/apppool-guide.7
}

# recipe NUMBER: makes this recipe the configuration.
recipe() {
	conf <"$DIR/recipe.$1"
}

recipes() {
	for path in "$DIR"/recipe.*; do
		echo "${path##*.}"
	done
}

apps_of() {
	sed -n 's/^app "\(.*\)" {$/\1/p' "$DIR/recipe.$1"
}

testEachRecipeIsValid() {
	assertEquals 'recipes' 6 "$(recipes | wc -l)"
	for n in $(recipes); do
		recipe "$n"
		said=$("$APPPOOLD" -t -c "$DIR/pool.conf" 2>&1)
		assertEquals "$(cat "$DIR/pool.conf")
$said" 0 $?
	done
}

# Users and programs of an example need not be on this machine.
testEachExampleIsValid() {
	for path in "$DIR"/example.*; do
		grep -q '^app "' "$path" || continue
		said=$("$APPPOOLCTL" simulate -c "$path" --for 1s 2>&1)
		assertEquals "$(cat "$path")
$said" 0 $?
	done
}

testEachRecipeServes() {
	for n in $(recipes); do
		recipe "$n"
		# A recipe has a queue of a thousand.
		may_open 2000 || sed -i 's/max_queue.*/max_queue = 100/' \
		    "$DIR/pool.conf"
		pool_start
		for app in $(apps_of "$n"); do
			assertContains "recipe $n" \
			    "$(ask "unix:$DIR/$app.sock")" hello
		done
		pool_stop
	done
}

. tests/e2e/lib.sh
