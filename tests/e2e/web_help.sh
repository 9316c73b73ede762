# shellcheck shell=sh
#
# For the tests of the status page; see lib.sh.

# choose_url: where the page shall be, $URL.
choose_url() {
	WEB_PORT=$(free_port)
	# shellcheck disable=SC2034 # for the tests
	URL=http://127.0.0.1:$WEB_PORT
}

# web_conf: a daemon with a status page there, beside what stdin says.
web_conf() {
	{
		echo 'control_mode = 0666'
		sed -n '/^app/,$p' etc/examples/status.conf |
		    sed -e "s,127.0.0.1:8079,127.0.0.1:$WEB_PORT," \
		    -e "s,/run/apppoold/,$DIR/,"
		cat
	} | conf
}
