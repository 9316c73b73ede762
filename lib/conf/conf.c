/*
 * Loading a configuration from end to end, and giving it back.
 */

#include <sys/stat.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "conf/conf_private.h"

static void
preset(const struct conf_option *options, size_t len, void *base)
{
	struct conf_findings none;

	conf_findings_init(&none, 0);
	for (size_t i = 0; i < len; i++) {
		char *value = (char *)(uintptr_t)options[i].preset;
		struct conf_input in = {
			.option = &options[i],
			.dir = "/",
			.values = &value,
			.len = value != NULL ? 1 : 0,
			.findings = &none,
		};
		bool good = true;

		if (value != NULL || options[i].type->list)
			good = options[i].type->parse(&in, base);
		assert(good);
	}
	conf_findings_fini(&none);
}

void
conf_globals_init(struct conf *conf)
{
	memset(conf, 0, sizeof(*conf));
	conf->control_gid = (gid_t)-1;
	preset(conf_global_options, conf_global_options_len, conf);
}

void
conf_app_init(struct conf_app *app)
{
	memset(app, 0, sizeof(*app));
	app->socket_uid = (uid_t)-1;
	app->socket_gid = (gid_t)-1;
	preset(conf_app_options, conf_app_options_len, app);
}

static void
values_free(const struct conf_option *options, size_t len, void *base)
{
	for (size_t i = 0; i < len; i++) {
		if (options[i].type->fini != NULL)
			options[i].type->fini(&options[i], base);
	}
}

void
conf_app_fini(struct conf_app *app)
{
	values_free(conf_app_options, conf_app_options_len, app);
	free(app->name);
	free(app->file);
	free(app->broken);
	free(app->adapter);
	free(app->on_full_reply);
	free(app->identity.groups);
	free(app->identity.user);
	free(app->identity.home);
	free(app->identity.shell);
}

void
conf_free(struct conf *conf)
{
	if (conf == NULL)
		return;
	for (size_t i = 0; i < conf->apps_len; i++)
		conf_app_fini(&conf->apps[i]);
	free(conf->apps);
	values_free(conf_global_options, conf_global_options_len, conf);
	free(conf->file);
	free(conf);
}

struct conf *
conf_load(const char *file, unsigned flags,
    bool (*is_ours)(const struct conf_listen *), struct conf_report *report)
{
	struct conf_findings findings;
	struct conf_build build;
	struct conf_text text;
	struct conf *conf = NULL;

	conf_findings_init(&findings, flags);
	if (conf_text_read(&text, file, &findings)) {
		conf_build_init(&build, &text, &findings);
		conf_build(&build);
		conf_place_resolve(&build);
		conf_identity_resolve(&build);
		conf_adapter_find(&build);
		conf_reply_read(&build);
		conf_check(&build);
		conf_outside_check(&build, is_ours);
		conf = build.conf;
		conf_build_fini(&build);
	}
	if (findings.mistakes > 0) {
		conf_free(conf);
		conf = NULL;
	}
	conf_findings_report(&findings, report);
	conf_findings_fini(&findings);
	conf_text_fini(&text);
	return conf;
}

const struct conf_app *
conf_find_app(const struct conf *conf, const char *name)
{
	for (size_t i = 0; i < conf->apps_len; i++) {
		if (strcmp(conf->apps[i].name, name) == 0)
			return &conf->apps[i];
	}
	return NULL;
}
