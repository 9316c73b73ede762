# Completion of apppoolctl for bash. Commands, their options and the kind of
# their arguments come from `apppoolctl -h`; names from the daemon that runs.

# What may stand in the place of APP, ID or COMMAND in the usage of a command.
_apppoolctl_words() {
	local usage=$1
	shift
	case $usage in *APP*) "$@" apps ;; esac
	case $usage in *ID*)
		"$@" -j status | sed -n 's/^{"id":"\([^"]*\)".*/\1/p' ;;
	esac
	case $usage in *' [COMMAND]'*) _apppoolctl_commands "$1" ;; esac
}

_apppoolctl_commands() {
	"$1" -h | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p'
}

_apppoolctl() {
	local ctl=${COMP_WORDS[0]} cur=${COMP_WORDS[COMP_CWORD]}
	local command='' help words i
	local -a daemon=()

	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-c | -s) daemon=("${COMP_WORDS[i]}" "${COMP_WORDS[++i]}") ;;
		--alive | --openmetrics) ;;
		-n | --[a-z]*) ((i++)) ;;
		-*) ;;
		*) [[ -n $command ]] || command=${COMP_WORDS[i]} ;;
		esac
	done
	case ${COMP_WORDS[COMP_CWORD - 1]} in
	-c | -s | --svg | --trace)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	# The value of another option stands here.
	((i == COMP_CWORD)) || return 0
	if [[ -n $command ]]; then
		help=$("$ctl" "$command" -h 2>/dev/null)
	else
		help=$("$ctl" -h 2>/dev/null)
	fi
	if [[ $cur == -* ]]; then
		words=$(sed -n 's/^  \(-[^ ,]*\).*/\1/p' <<<"$help")
	elif [[ -z $command ]]; then
		words=$(_apppoolctl_commands "$ctl")
	else
		words=$(_apppoolctl_words "${help%%$'\n'*}" \
		    "$ctl" "${daemon[@]}" 2>/dev/null)
	fi
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _apppoolctl apppoolctl
