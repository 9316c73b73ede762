/* The files that restart an app: restart_dir and watch. */

#include "conf_help.h"

static void
restart_dir_is(const char *expected, const char *text)
{
	struct conf *conf = conf_right(text);
	char *short_text = NULL;
	size_t len;
	FILE *out = open_memstream(&short_text, &len);

	if (conf != NULL) {
		conf_shorten(conf->apps[0].restart_dir == NULL
			? "none"
			: conf->apps[0].restart_dir,
		    out);
		fclose(out);
		CHECK_STR(expected, short_text);
	} else {
		fclose(out);
	}
	free(short_text);
	conf_free(conf);
}

static void
restart_dir_is_within_the_directory(void)
{
	restart_dir_is("tmp", APP(""));
	restart_dir_is("run", APP("restart_dir = run"));
	restart_dir_is("/srv/web/tmp", APP("directory = /srv/web"));
	restart_dir_is(
	    "/srv/web/run", APP("directory = /srv/web restart_dir = ./run/"));
	restart_dir_is(
	    "/run/web", APP("directory = /srv/web restart_dir = /run/web"));
	restart_dir_is("none", APP("restart_dir = \"\""));
}

static void
watched_files_start_at_the_folder_of_the_file(void)
{
	char *list;
	struct conf *conf = conf_right(
	    APP("directory = /srv/web watch = { version, \"/etc/web\" }"));

	NEED(conf != NULL);
	list = conf_lines(conf->apps[0].watch, 2);
	CHECK_STR("version\n/etc/web\n", list);
	CHECK(conf->apps[0].watch[2] == NULL);
	free(list);
	conf_free(conf);
}

static void
an_empty_path_cannot_be_watched(void)
{
	MISTAKES("pool.conf:1: option 'watch': an empty path names no file\n",
	    APP("watch = { \"a\", \"\" }"));
}

/* Prints the configuration, loads that, and compares both. */
static void
is_read_back(const char *text)
{
	struct conf *conf = conf_right(text), *again;
	char *printed = NULL;
	size_t len;
	FILE *out = open_memstream(&printed, &len);

	NEED(conf != NULL);
	conf_print(conf, out);
	fclose(out);
	again = conf_right(printed);
	NEED(again != NULL);
	CHECK_EQ(0, conf_app_changes(&conf->apps[0], &again->apps[0]));
	CHECK_STR(conf->apps[0].restart_dir, again->apps[0].restart_dir);
	free(printed);
	conf_free(conf);
	conf_free(again);
}

static void
a_printed_configuration_is_read_back(void)
{
	is_read_back(APP("restart_dir = run watch = { a, b }"));
	is_read_back(APP("directory = /srv"));
	is_read_back(APP("restart_dir = \"\""));
}

/* The path is printed as the processes see it. */
static void
restart_dir_is_within_the_root_directory(void)
{
	if (geteuid() != 0)
		SKIP("needs root");
	restart_dir_is("/tmp", APP("chroot = /srv"));
	restart_dir_is(
	    "/web/run", APP("chroot = /srv directory = web restart_dir = run"));
	is_read_back(APP("chroot = /srv directory = web restart_dir = run"));
}

int
main(int argc, char **argv)
{
	check_start(argc, argv);
	conf_folder_make();
	RUN(restart_dir_is_within_the_directory);
	RUN(watched_files_start_at_the_folder_of_the_file);
	RUN(an_empty_path_cannot_be_watched);
	RUN(a_printed_configuration_is_read_back);
	RUN(restart_dir_is_within_the_root_directory);
	return check_finish();
}
