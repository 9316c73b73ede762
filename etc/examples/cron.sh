# shellcheck shell=sh
# A job: see cron.conf. It says what is in each file of a folder, and removes
# the file.

# What has begun is finished before it leaves.
trap 'leave=yes' TERM

cd "${1:?no folder}" || exit
for file in *; do
	[ -z "$leave" ] || exit 0
	# One of the jobs takes the file: to the others it is hidden.
	mv "$file" ".$$" 2>/dev/null || continue
	echo "$file: $(cat ".$$")"
	rm ".$$"
done
