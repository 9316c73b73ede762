/* Messages that say what to write instead. */

#include "conf/room.h"

#include "conf_help.h"

#define STRICT CONF_OUTSIDE_STRICT

/* Without a control socket there is no folder for it to be missing. */
#define NO_CONTROL "control = \"\"\n"

/* ---- names and signs ---- */

/* The table cannot be read but where it is written. */
TEST(every_translation_is_an_option)
{
	FILE *in = fopen("lib/conf/options.c", "r");
	char line[256], ours[64], theirs[128];
	unsigned n = 0;

	NEED(in != NULL);
	while (fgets(line, sizeof(line), in) != NULL) {
		if (sscanf(line, " { \"%63[^\"]\", \"%127[^\"]\" }", ours,
			theirs) != 2)
			continue;
		CHECK(options_find(true, ours) != NULL ||
		    options_find(false, ours) != NULL);
		for (char *t = strtok(theirs, " "); t != NULL;
		     t = strtok(NULL, " ")) {
			CHECK(options_find(true, t) == NULL &&
			    options_find(false, t) == NULL);
			n++;
		}
	}
	CHECK(n > 70);
	(void)fclose(in);
}

/* ---- variables ---- */

TEST(a_variable_that_is_not_set_is_a_mistake)
{
	unsetenv("CONF_NONE");
	MISTAKES("pool.conf:2: variable 'CONF_NONE' is not set: write "
		 "${CONF_NONE:-TEXT} for a default, or put the value in single "
		 "quotes to keep it as it is\n",
	    "max_processes = 5\npid_file = \"/${CONF_NONE}x\"\n" ANY_APP);
}

TEST(an_empty_variable_or_default_is_nothing)
{
	unsetenv("CONF_NONE");
	setenv("CONF_EMPTY", "", 1);
	SHOWS("pid_file = \"/ab\"\ndump_file = \"/cd\"\n",
	    "pid_file = \"/a${CONF_NONE:-}b\"\n"
	    "dump_file = \"/c${CONF_EMPTY}d\"\n" ANY_APP);
}

TEST(rules_alone_need_no_variable)
{
	unsetenv("CONF_NONE");
	MISTAKES_WITH(
	    CONF_INSIDE, "", "pid_file = \"/${CONF_NONE}x\"\n" ANY_APP);
}

/* ---- programs and files ---- */

TEST(a_program_beside_the_file_is_named_with_its_folder)
{
	conf_write("prog.py", "#!/bin/sh\n");
	chmod(in_folder("prog.py"), 0644);
	MISTAKES_WITH(STRICT,
	    "pool.conf:2: app 'a': program 'prog.py' is not in PATH: write "
	    "./prog.py, and make it executable\n",
	    NO_CONTROL "app a { handoff = none command = prog.py }\n");
	chmod(in_folder("prog.py"), 0755);
	MISTAKES_WITH(STRICT,
	    "pool.conf:2: app 'a': program 'prog.py' is not in PATH: write "
	    "./prog.py\n",
	    NULL);
}

TEST(a_program_in_the_directory_of_the_app_is_named_in_full)
{
	mkdir(in_folder("srv"), 0755);
	conf_write("srv/run", "#!/bin/sh\n");
	chmod(in_folder("srv/run"), 0755);
	MISTAKES_WITH(STRICT,
	    "pool.conf:2: app 'a': program 'run' is not in PATH: write "
	    "srv/run\n",
	    NO_CONTROL "app a { handoff = none command = run "
		       "directory = srv }\n");
}

TEST(an_argument_that_is_no_file_in_the_directory_is_doubted)
{
	conf_write("app.js", "");
	MISTAKES_WITH(STRICT,
	    "pool.conf:2: app 'a': argument 'no-such.js': there is no such "
	    "file in /, where the program starts\n"
	    "pool.conf:2: app 'a': argument 'app.js': there is no such file "
	    "in /, where the program starts; write app.js\n",
	    NO_CONTROL "app a { handoff = none directory = / "
		       "command = { /bin/true, no-such.js, app.js } }\n");
	MISTAKES_WITH(STRICT, "",
	    NO_CONTROL
	    "app a { handoff = none command = { /bin/true, app.js, ./app.js, "
	    "-x.js, \"--conf=x.ini\", \"http://x.pl\", \"cat x.sh\", "
	    "example.org, js, \"{slot}.js\" } }\n");
}

static const struct fact facts[] = {
	{ "a_name_of_another_manager_is_translated_with_its_value", 0,
	    "pool.conf:1: unknown option 'pm.max_children': write "
	    "max_processes = 5\n"
	    "pool.conf:1: unknown option 'numprocs': write min_processes = "
	    "2\n",
	    APP("pm.max_children = 5 numprocs = 2") },
	{ NULL, 0,
	    "pool.conf:1: unknown option 'processes': write "
	    "max_processes = 3\n"
	    "pool.conf:2: unknown option 'harakiri': write "
	    "request_timeout = 9, in an app\n",
	    "processes = 3\nharakiri = 9\n" ANY_APP },
	{ NULL, 0,
	    "pool.conf:1: unknown option 'pidfile': write pid_file = "
	    "\"/x\", outside of sections\n"
	    "pool.conf:1: unknown option 'env': write environment = "
	    "VALUE\n",
	    APP("pidfile = \"/x\" env = { \"A=1\" }") },
	{ "a_name_without_a_sign_is_translated", 0,
	    "pool.conf:1: 'MaxRequestWorkers' is not followed by '=': "
	    "write max_processes = 50\n"
	    "pool.conf:2: 'max_processes' is not followed by '=': write "
	    "max_processes = 4\n"
	    "pool.conf:3: 'no_such_thing' is not followed by '=' or '{'\n",
	    "MaxRequestWorkers 50\nmax_processes 4\nno_such_thing 1\n" ANY_APP },
	{ "case_and_hyphens_of_other_names_do_not_matter", 0,
	    "pool.conf:1: unknown option 'maxrequestworkers': write "
	    "max_processes = 9\n"
	    "pool.conf:1: unknown option 'reload-on-rss': write "
	    "max_memory = 1G\n"
	    "pool.conf:1: unknown option '-killInterval': write "
	    "kill_interval = 5\n"
	    "pool.conf:1: unknown option 'workersx'\n",
	    APP("maxrequestworkers = 9 reload-on-rss = 1G -killInterval = 5 "
		"workersx = 1") },
	{ "an_include_without_parentheses_is_told_how", 0,
	    "pool.conf:1: 'include' is a call: write include(\"x.conf\")\n"
	    "pool.conf:2: 'include' is a call: write include(\"y.conf\")\n",
	    "include \"x.conf\"\ninclude y.conf\n" ANY_APP },
	{ "a_section_of_another_syntax_is_told_how", 0,
	    "pool.conf:1: unexpected '[program:web]': a section is "
	    "written app \"NAME\" { ... }\n",
	    "[program:web]\n" ANY_APP },
	{ "an_address_in_another_form_is_told_how", 0,
	    "pool.conf:1: option 'listen': '8080' is not an address: "
	    "write *:8080, or 127.0.0.1:8080\n"
	    "pool.conf:2: option 'listen': ':80' is not an address: write "
	    "*:80, or 127.0.0.1:80\n"
	    "pool.conf:3: option 'listen': '/run/x.sock' is not an "
	    "address: write unix:/run/x.sock\n"
	    "pool.conf:4: option 'listen': 'http://x:80/' is not an "
	    "address: write x:80\n"
	    "pool.conf:5: option 'listen': 'localhost' is not an address: "
	    "write 127.0.0.1:8080, [::1]:8080, *:8080, unix:PATH or "
	    "fd:NAME\n",
	    "app a { command = /bin/true listen = 8080 }\n"
	    "app b { command = /bin/true listen = \":80\" }\n"
	    "app c { command = /bin/true listen = /run/x.sock }\n"
	    "app d { command = /bin/true listen = \"http://x:80/\" }\n"
	    "app e { command = /bin/true listen = localhost }\n" },
};

FACT_TESTS(facts)
