# shellcheck shell=sh
#
# play NAME [FILE...] -- ARGUMENT...: workers/NAME.py, a test that plays the
# daemon, with these arguments; if there is Python and each of the files.

play() {
	played=$1
	shift
	set -- /usr/bin/python3 "$@"
	while [ "$1" != -- ]; do
		if ! [ -e "$1" ]; then
			echo "skip $played: there is no $1"
			echo '## passed=0 total=0'
			exit 0
		fi
		shift
	done
	shift
	PYTHONDONTWRITEBYTECODE=1 exec /usr/bin/python3 \
	    "tests/e2e/workers/$played.py" "$@"
}
