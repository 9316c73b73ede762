# shellcheck shell=sh
# A page by a shell: see shell.conf.

cr=$(printf '\r')
read -r method path version || exit
while read -r line && [ "${line%"$cr"}" ]; do
	: # what else the client has to say
done

# A client may leave before it has its answer; that is no failure of ours.
trap '' PIPE
{
	printf '%s\r\n' 'HTTP/1.0 200 OK' 'Content-Type: text/plain' ''
	printf 'process %d: %s %s %s\n' \
	    $$ "$method" "$path" "${version%"$cr"}"
} 2>/dev/null
