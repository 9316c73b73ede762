#!/bin/sh
# apppoolctl simulate, as a user sees it.

file_setup() {
	cat >"$DIR/pool.conf" <<-END
	app "web" {
		listen = {"127.0.0.1:8080"}
		command = {"/bin/true"}
	}
	END
	cat >"$DIR/two.conf" <<-END
	app "web" {
		listen = {"127.0.0.1:8080"}
		command = {"/bin/true"}
	}
	app "api" {
		listen = {"127.0.0.1:8081"}
		command = {"/bin/true"}
	}
	END
}

# simulate OPTION...: with the configuration of one app; $DIR/out, $DIR/err.
simulate() {
	"$APPPOOLCTL" simulate -c "$DIR/pool.conf" "$@" \
	    >"$DIR/out" 2>"$DIR/err"
}

# python CODE FILE: its output, errors included.
python() {
	"$PYTHON" -c "$@" 2>&1
}

# ---------------------------------------------------------------- text

testASimulationPrintsFigures() {
	simulate --rate 50 --service exponential:50ms --for 1m
	assertEquals 0 $?
	for word in Load Starts Connections Waits Processes Spawns Waste; do
		assertTrue "$word" "grep -q '^$word' '$DIR/out'"
	done
	assertEquals '' "$(cat "$DIR/err")"
}

testTheFirstLineIsTheVerdict() {
	simulate --rate 50 --service 50ms --for 1m
	assertContains "$(head -n 1 "$DIR/out")" 'fits: 2.5'
	simulate --rate 300 --service 50ms --for 4m
	said=$(head -n 1 "$DIR/out")
	assertContains "$said" 'overloaded: 1'
	fitting=${said#*max_processes = }
	fitting=${fitting%% *}
	sed "s/command/max_processes = $fitting command/" "$DIR/pool.conf" \
	    >"$DIR/fitting.conf"
	simulate -c "$DIR/fitting.conf" --rate 300 --service 50ms --for 4m
	assertContains "$said" "$(head -n 1 "$DIR/out")" fits:
}

testAutoIsTheNumberThatFitsIntoTheMemory() {
	sed 's/command/max_processes = auto command/' "$DIR/pool.conf" \
	    >"$DIR/auto.conf"
	simulate -c "$DIR/auto.conf" --rate 50 --for 1m --memory 512M --pss 30M
	assertContains "$(cat "$DIR/err" "$DIR/out")" \
	    'Memory       web: at most 14, of 30.0M each in 512.0M, 64.0M of it'
	assertContains "$(head -n 1 "$DIR/out")" '14 allowed'
	simulate -c "$DIR/auto.conf" --rate 50 --for 1m --memory 512M \
	    --pss web=100M
	assertContains "$(head -n 1 "$DIR/out")" '4 allowed'
	simulate -c "$DIR/auto.conf" --rate 50 --for 1m --memory 512M
	assertEquals 64 $?
	assertContains "$(cat "$DIR/err")" 'give --memory, and --pss for web'
	simulate -c "$DIR/auto.conf" --memory 512M --pss lots
	assertEquals 64 $?
	assertContains "$(cat "$DIR/err")" 'write 65536, 64K, 16M or 2G'
	simulate --memory 512M
	assertEquals 64 $?
	assertContains "$(cat "$DIR/err")" 'no max_processes is auto'
}

# verdict GLOBAL OPTIONS OPTION...: the first line of what a simulation shows
# of an app with these options, beside which another one keeps its places.
verdict() {
	cat >"$DIR/verdict.conf" <<-END
	$1
	app "web" { listen = "127.0.0.1:8080" command = "/bin/true" $2 }
	app "api" { listen = "127.0.0.1:8081" command = "/bin/true"
		min_processes = 8 max_processes = 8 }
	END
	shift 2
	simulate -c "$DIR/verdict.conf" --rate api=1 --service 50ms "$@"
	head -n 1 "$DIR/out"
}

testTheVerdictNamesWhatWouldDo() {
	max=$(verdict '' 'max_processes = 4' --rate web=200 |
	    sed -n 's/^web: overloaded: 9.* needed, 4 allowed; max_processes = \([0-9]*\) would keep .*/\1/p')
	assertTrue "$max" "[ '$max' -gt 10 ] && [ '$max' -lt 20 ]"
	assertContains "$(verdict '' "max_processes = $max" --rate web=200)" \
	    'fits: '
	assertContains \
	    "$(verdict '' "max_processes = $((max - 1))" --rate web=200)" \
	    "max_processes = $max would keep"
}

testTheVerdictKeepsThePlacesOfOtherApps() {
	said=$(verdict 'max_processes = 18' 'max_processes = 10' --rate web=300)
	max=$(echo "$said" | sed 's/.*; max_processes = //; s/,.*//')
	assertTrue "$max" "[ '$max' -gt 15 ] && [ '$max' -lt 25 ]"
	assertContains "$said" "with $((max + 8)) over all apps, would"
	said=$(verdict 'max_processes = 18' 'max_processes = 40' --rate web=300)
	assertContains "$said" '; max_processes = 2'
	assertContains "$said" ' over all apps would'
}

# The minima of all apps must be there at once, although the maxima need not.
testWhereStartsTakeTooLongTheVerdictIsOnMinProcesses() {
	said=$(verdict 'max_processes = 16' 'max_processes = 15' \
	    --rate web=200 --start-time 30s)
	min=$(echo "$said" | sed 's/.*; min_processes = //; s/,.*//')
	assertTrue "$min" "[ '$min' -gt 10 ] && [ '$min' -lt 20 ]"
	assertContains "$said" "with $((min + 8)) over all apps, would"
}

testClientsNeedWhatTheyWouldBringIfNobodyWaited() {
	sed 's/command/max_processes = 4 command/' \
	    "$DIR/pool.conf" >"$DIR/four.conf"
	simulate -c "$DIR/four.conf" --clients 20 --think 50ms --service 50ms
	assertContains "$(head -n 1 "$DIR/out")" \
	    'overloaded: 10 busy processes needed'
}

testEachAppThatDoesNotFitHasAVerdict() {
	simulate -c "$DIR/two.conf" --rate web=300 --rate api=1 --service 50ms --for 4m
	assertContains "$(head -n 1 "$DIR/out")" 'web: overloaded: '
	assertEquals 1 "$(grep -c busy.processes "$DIR/out")"
}

testAppsWithoutARateGetNoConnections() {
	simulate -c "$DIR/two.conf" --rate web=10 --service 50ms --for 1m -j
	assertEquals '10 0 True 0' "$("$PYTHON" -c '
import json, sys
r = json.load(sys.stdin)
rates = {app["name"]: app["rate"] for app in r["load"]["apps"]}
served = {app["name"]: app["completed"] for app in r["apps"]}
print(rates["web"], rates["api"], served["web"] > 0, served["api"])
' <"$DIR/out")"
}

testTheVerdictOnStandardInputNamesNoNumber() {
	awk 'BEGIN { for (i = 0; i < 1000; i++) print i / 100 ",web,1" }' |
	    simulate --trace -
	assertContains "$(head -n 1 "$DIR/out")" overloaded:
	assertNotContains "$(head -n 1 "$DIR/out")" max_processes
}

testSeveralAppsHaveTheirOwnFigures() {
	"$APPPOOLCTL" simulate -c "$DIR/two.conf" --rate web=50 --rate api=1 \
	    --for 1m >"$DIR/out"
	assertEquals 0 $?
	assertTrue "grep -q '^App  *arrived' '$DIR/out'"
	assertTrue "grep -q '^web  *[0-9,]* ' '$DIR/out'"
	assertTrue "grep -q '^api  *[0-9,]* ' '$DIR/out'"
}

testTheSameSeedGivesTheSameResultAndAnotherAnother() {
	simulate --rate 50 --profile burst --seed 7
	mv "$DIR/out" "$DIR/first"
	simulate --rate 50 --profile burst --seed 7
	assertTrue "cmp '$DIR/out' '$DIR/first'"
	simulate --rate 50 --profile burst --seed 8
	assertFalse "cmp -s '$DIR/out' '$DIR/first'"
}

# ---------------------------------------------------------------- clients

testClientsComeAgainWhenTheyHaveBeenServed() {
	simulate --clients 10 --think 1s --service 1s --for 100s -j
	assertEquals 0 $?
	assertEquals '' "$(python 'import json, sys
r = json.load(open(sys.argv[1]))
assert 480 <= r["accepted"] <= 510, r["accepted"]
app = r["load"]["apps"][0]
assert (app["clients"], app["think"]) == (10, "fixed:1s"), app' "$DIR/out")"
	simulate --clients 10 --think 1s --service 1s --for 100s
	assertContains "$(cat "$DIR/out")" 'web 10 clients, think fixed:1s, fixed:1s'
}

# The study of a pool of ten sockets whose threads each use one for 1 to 20
# seconds: while a thread waits, none of ours is idle.
testAPoolOfSocketsWastesNothing() {
	sed 's/command/min_processes = 10 max_processes = 10 command/' \
	    "$DIR/pool.conf" >"$DIR/ten.conf"
	simulate -c "$DIR/ten.conf" --clients 30 --think 1s \
	    --service uniform:1s,20s --for 1h
	assertContains "$(cat "$DIR/out")" 'think fixed:1s, uniform:1s,20s'
	assertContains "$(cat "$DIR/out")" '10 at most; 10.00 busy (100 %)'
	assertContains "$(cat "$DIR/out")" \
	    'Waste        0 idle while waiting (0 % of all processes)'
	simulate -c "$DIR/ten.conf" --clients 30 --think 1s \
	    --service uniform:1s,20s --for 1h -j
	assertEquals '0 0 10.5' "$(python 'import json, sys
r = json.load(open(sys.argv[1]))
print(r["idle_waste"], r["apps"][0]["idle_waste"],
    r["load"]["apps"][0]["service_mean"])' "$DIR/out")"
}

testClientsGoWithNothingThatHasItsOwnRate() {
	for option in --rate=5 --profile=day --trace=x; do
		simulate --clients 5 "$option"
		assertEquals "$option" 64 $?
		assertContains "$option" "$(cat "$DIR/err")" clients
	done
	simulate --think 1s
	assertEquals 64 $?
	assertContains "$(cat "$DIR/err")" '--clients'
}

testAClientNeedNotThink() {
	simulate --clients 5 --think 0 --for 1m
	assertEquals 0 $?
	mv "$DIR/out" "$DIR/first"
	simulate --clients 5 --for 1m
	assertTrue "cmp '$DIR/out' '$DIR/first'"
}

testAClientIsANumber() {
	for number in -1 x 1.5 1000001; do
		simulate --clients "web=$number"
		assertEquals "$number" 64 $?
		assertContains "$(cat "$DIR/err")" \
		    "--clients $number: write a number from 0 to 1000000"
	done
}

# ---------------------------------------------------------------- a picture

testHostsServeTogetherWhatOneCannot() {
	simulate --rate 600 --service 50ms --for 1m
	assertContains "$(head -n 1 "$DIR/out")" overloaded:
	simulate --rate 600 --service 50ms --for 1m --hosts 10
	assertContains "$(head -n 1 "$DIR/out")" 'fits: '
	assertContains "$(cat "$DIR/out")" 'Hosts        10 behind leastconn'
	simulate --rate 600 --service 50ms --for 1m --hosts 4
	assertContains "$(head -n 1 "$DIR/out")" 'needed on each host'
}

testTheBalancerMakesADifference() {
	for balancer in roundrobin:blind random2 leastconn; do
		simulate --hosts 4 --balancer "$balancer" -j
		python 'import json, sys
r = json.load(open(sys.argv[1]))
print(r["hosts"], r["balancer"], r["agent_checks"], r["load"]["apps"][0]["rate"],
      r["queue_wait"]["mean"])' "$DIR/out"
	done >"$DIR/seen"
	# By default 70 % of 8 processes on each of 4 hosts, for 50 ms each.
	assertEquals "4 roundrobin False 448
4 random2 True 448
4 leastconn True 448" "$(cut -d ' ' -f -4 "$DIR/seen")"
	cut -d ' ' -f 5 "$DIR/seen" >"$DIR/waits"
	assertEquals 'the waits become shorter' "$(sort -gru "$DIR/waits")" \
	    "$(cat "$DIR/waits")"
}

testABalancerGoesWithHosts() {
	simulate --balancer leastconn
	assertEquals 64 $?
	assertContains "$(cat "$DIR/err")" '--balancer goes with --hosts'
}

testAPictureIsXml() {
	simulate --rate 50 --profile burst --svg "$DIR/picture.svg"
	assertEquals 0 $?
	assertEquals '' "$(python 'import xml.dom.minidom, sys
xml.dom.minidom.parse(sys.argv[1])' "$DIR/picture.svg")"
	# shellcheck disable=SC2015 # what assertEquals gives does not matter
	command -v xmllint >/dev/null && assertEquals '' \
	    "$(xmllint --noout "$DIR/picture.svg" 2>&1)" || :
}

testEachOfSeveralAppsHasAPicture() {
	simulate -c "$DIR/two.conf" --rate web=50/s --rate api=60/m --for 1m \
	    --svg "$DIR/two.svg"
	assertEquals 0 $?
	assertContains "$(cat "$DIR/two.svg")" '>2 apps: --profile steady<'
	assertContains "$(cat "$DIR/two-web.svg")" '>web: --rate 50/s --service'
	assertContains "$(cat "$DIR/two-api.svg")" '>api: --rate 60/m --service'
	assertContains "$(cat "$DIR/two-api.svg")" '>max_processes = 8<'
}

testAPictureThatCannotBeWrittenIsAnError() {
	simulate --rate 50 --for 1m --svg "$DIR/none/picture.svg"
	assertEquals 73 $?
	assertContains "$(cat "$DIR/err")" "$DIR/none/picture.svg: No such file"
}

# ---------------------------------------------------------------- JSON

testTheFiguresOfJsonAddUp() {
	simulate --rate 200 --profile burst --for 3m -j
	assertEquals '' "$(python 'import json, sys
r = json.load(open(sys.argv[1]))
assert r["accepted"] == r["completed"] + r["refused"] + r["timed_out"] \
    + r["lost"] + r["unfinished"], r
assert sum(b["accepted"] for b in r["series"]) == r["accepted"]
assert sum(b["spawned"] for b in r["series"]) \
    == r["spawned"] - r["spawned_before"]
w = r["queue_wait"]
assert w["p50"] <= w["p90"] <= w["p99"] <= w["p99.9"] <= w["max"]
mean = sum(b["processes"] for b in r["series"]) / len(r["series"])
assert abs(mean - r["processes"]) < 0.1, mean
assert [a["name"] for a in r["apps"]] == ["web"]
assert r["load"]["apps"][0]["rate"] == 200
v = r["apps"][0]["verdict"]
assert v["kind"] == "overloaded" and v["allowed"] == 8, v
assert v["max_processes"] > 8, v' "$DIR/out")"
}

testAPromisedWaitIsComparedWithWhatWasKept() {
	sed 's/command/target_wait = 20ms command/' \
	    "$DIR/pool.conf" >"$DIR/promise.conf"
	simulate -c "$DIR/promise.conf" --rate 50 --for 10m
	assertTrue "grep -q '^Promise      20ms, kept for [0-9.]* %; need [0-9.]* \
on average, [1-8] at most$' '$DIR/out'"
	simulate -c "$DIR/promise.conf" --rate 50 --for 10m -j
	assertEquals '' "$(python 'import json, sys
r = json.load(open(sys.argv[1]))
assert r["target_wait"] == 0.02, r["target_wait"]
assert r["kept"] > 98, r["kept"]
assert 3 < r["need"] <= r["most_need"] <= 8, r' "$DIR/out")"
}

testWithoutAPromiseNoneIsShown() {
	simulate --for 1m
	assertEquals 0 "$(grep -c Promise "$DIR/out")"
}

# ---------------------------------------------------------------- traces

testATraceIsPlayed() {
	printf '%s\n' 0,web,0.1 0.5,web,100ms 2,web,1 >"$DIR/trace.csv"
	simulate --trace "$DIR/trace.csv" -j
	assertEquals 0 $?
	assertEquals '3 3 2' "$(python 'import json, sys
r = json.load(open(sys.argv[1]))
print(r["accepted"], r["completed"], r["length"])' "$DIR/out")"
}

testATraceIsReadFromStandardInput() {
	printf '%s\n' 0,,0.1 1,,1 |
	    "$APPPOOLCTL" simulate -c "$DIR/pool.conf" --trace - >"$DIR/out"
	assertTrue "grep -q '^Connections  2: 2 completed' '$DIR/out'"
}

testMistakesInATraceHaveTheirLines() {
	printf '%s\n' 'arrival,app,service time' 1,web,1 2,wob,1 x,web,1 \
	    >"$DIR/trace.csv"
	simulate --trace "$DIR/trace.csv"
	assertEquals 65 $?
	assertEquals '' "$(cat "$DIR/out")"
	assertEquals "$DIR/trace.csv:3: there is no app 'wob': write web
$DIR/trace.csv:4: 'x' is not a time of arrival: write seconds, as 12.25, \
or a unit of ms, s, m, h or d behind it" "$(cat "$DIR/err")"
}

testAMissingTraceIsAnError() {
	simulate --trace "$DIR/none.csv"
	assertEquals 66 $?
	assertContains "$(cat "$DIR/err")" "$DIR/none.csv: No such file"
}

# As the manual has it. The requests took 250 and 100 ms; the first that is
# logged began last.
testTheLogOfNginxBecomesATrace() {
	printf '%s\n' '1764000001.500 0.250' '1764000001.200 0.100' \
	    '1764000001.300 -' >"$DIR/access.log"
	awk '$2 > 0 { printf "%.3f,,%s\n", $1 - $2, $2 }' "$DIR/access.log" |
	    sort -t, -k1,1n >"$DIR/trace.csv"
	assertEquals '1764000001.100,,0.100
1764000001.250,,0.250' "$(cat "$DIR/trace.csv")"
	simulate --trace "$DIR/trace.csv"
	assertTrue "grep -q '^Connections  2: 2 completed' '$DIR/out'"
}

testTheLogOfApacheBecomesATrace() {
	printf '%s\n' '1764000001250 250000' '1764000001100 100000' \
	    >"$DIR/access.log"
	awk '{ printf "%.3f,,%.6f\n", $1 / 1000, $2 / 1000000 }' \
	    "$DIR/access.log" | sort -t, -k1,1n >"$DIR/trace.csv"
	assertEquals '1764000001.100,,0.100000
1764000001.250,,0.250000' "$(cat "$DIR/trace.csv")"
	simulate --trace "$DIR/trace.csv"
	assertTrue "grep -q '^Connections  2: 2 completed' '$DIR/out'"
}

# A value may be longer than the buffer of the writer.
testJsonHoldsNamesOfAnyLength() {
	name=$(printf '%070000d' 0)
	cat >"$DIR/long.conf" <<-END
	app "$name" {
		listen = {"127.0.0.1:8080"}
		command = {"/bin/true"}
	}
	END
	"$APPPOOLCTL" simulate -c "$DIR/long.conf" --rate "$name=5" --for 10s -j \
	    >"$DIR/out" 2>"$DIR/err"
	assertEquals 0 $?
	assertEquals '70000 70000' "$(python 'import json, sys
r = json.load(open(sys.argv[1]))
print(len(r["load"]["apps"][0]["name"]), len(r["apps"][0]["name"]))' "$DIR/out")"
}

# ---------------------------------------------------------------- mistakes

testAWrongValueIsToldWithItsOption() {
	for words in '--rate fast' '--service 5' '--service bimodal:1ms' \
	    '--service uniform:2s,1s' \
	    '--hosts 0' '--hosts 10001' '--balancer best' \
	    '--balancer random2:2' \
	    '--profile week' '--for 0' '--seed x' '--start-time soon'; do
		# shellcheck disable=SC2086 # an option and its value
		simulate $words
		case $words in
		'--service 5') assertEquals "$words" 0 $? ;;
		*)
			assertEquals "$words" 64 $?
			assertEquals '' "$(cat "$DIR/out")"
			assertContains "$(cat "$DIR/err")" "$words: "
			;;
		esac
	done
}

testAFullDiskIsAnError() {
	"$APPPOOLCTL" simulate -c "$DIR/pool.conf" --rate 5 >/dev/full \
	    2>"$DIR/err"
	assertEquals 74 $?
	assertContains "$(cat "$DIR/err")" 'No space left'
}

# ---------------------------------------------------------------- words

# apppoolctl WORD...: its exit status is in $RC, its output in $OUT and $ERR.
apppoolctl() {
	timeout "$LIMIT" "$APPPOOLCTL" "$@" >"$DIR/out" 2>"$DIR/err" </dev/null
	RC=$? OUT=$(cat "$DIR/out") ERR=$(cat "$DIR/err")
}

testSimulateIsTheCommandOnlyAsTheFirstWord() {
	apppoolctl -s "$DIR/nobody" status simulate
	assertEquals 69 "$RC"
	assertContains "$ERR" "no daemon: there is no $DIR/nobody"
	apppoolctl -c simulate status
	assertEquals 69 "$RC"
}

testSimulateHasAHelpOfItsOwn() {
	apppoolctl simulate -h
	assertEquals 0 "$RC"
	assertContains "$OUT" 'usage: apppoolctl simulate '
	for option in '-c FILE' '--clients ' '--for TIME' -j \
	    '--profile PROFILE' '--rate ' '--seed NUMBER' '--service ' \
	    '--start-time TIME' '--svg FILE' '--trace FILE'; do
		assertContains "$OUT" "
  $option"
	done
}

testASurplusWordIsAMistakeOfUsage() {
	apppoolctl simulate web
	assertEquals 64 "$RC"
	assertContains "$ERR" 'unexpected argument: web'
	assertEquals '' "$OUT"
}

testAnOptionThatContradictsATraceIsAMistakeOfUsage() {
	for option in --rate=1 --service=1s --profile=day; do
		apppoolctl simulate -c "$DIR/pool.conf" --trace x "$option"
		assertEquals "$option" 64 "$RC"
		assertContains "$ERR" "no ${option%%=*}"
	done
}

testAnUnknownAppIsAMistakeOfUsage() {
	apppoolctl simulate -c "$DIR/pool.conf" --rate wob=1
	assertEquals 64 "$RC"
	assertEquals 'apppoolctl: simulate: --rate wob=1: there is no such app' \
	    "$ERR"
}

testAMistakeOfTheConfigurationIsToldWithItsLine() {
	printf 'app "web" {\n\tmax_proceses = 8\n}\n' >"$DIR/bad.conf"
	apppoolctl simulate -c "$DIR/bad.conf"
	assertEquals 78 "$RC"
	assertContains "$ERR" "$DIR/bad.conf:2: unknown option 'max_proceses'"
	apppoolctl simulate -c "$DIR/none.conf"
	assertEquals 78 "$RC"
}

testSimulateNeedsNothingThatTheFileNames() {
	cat >"$DIR/else.conf" <<-END
	user = "no-such-user"
	control = "/no/such/folder/control.sock"
	app "web" {
		listen = "no-such-host.invalid:80"
		command = "/no/such/program"
		directory = "/no/such/folder"
		on_full = "reply:/no/such/file"
	}
	END
	apppoolctl simulate -c "$DIR/else.conf" --for 1s
	assertEquals "$ERR" 0 "$RC"
}

. tests/e2e/lib.sh
