#include "config.h"

#include <inttypes.h>
#include <stdio.h>

#include "dispatcher.h"
#include "metrics.h"

static const uint64_t bounds_us[METRICS_BOUNDS] = { 1000, 2500, 5000, 10000,
    25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 5000000, 10000000,
    30000000, 60000000 };

static void
observe(struct histogram *h, uint64_t us)
{
	size_t i = 0;

	while (i < METRICS_BOUNDS && us > bounds_us[i])
		i++;
	h->counts[i]++;
	h->sum_us += us;
}

void
metrics_job(struct metrics *m, const struct job_result *r)
{
	observe(&m->queue, r->queue_us);
	m->output[JOB_STDOUT] += r->output[JOB_STDOUT].total;
	m->output[JOB_STDERR] += r->output[JOB_STDERR].total;
	/* What no worker began has no duration. */
	if (r->verdict == VERDICT_BUSY)
		return;
	observe(&m->wall, r->wall_us);
	observe(&m->cpu, r->cpu_us);
}

static void
head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void
one(FILE *f, const char *name, const char *type, const char *help,
    uint64_t value)
{
	head(f, name, type, help);
	fprintf(f, "%s %" PRIu64 "\n", name, value);
}

static void
put_histogram(FILE *f, const char *name, const char *help,
    const struct histogram *h)
{
	uint64_t count = 0;
	size_t i;

	head(f, name, "histogram", help);
	for (i = 0; i < METRICS_BOUNDS; i++) {
		count += h->counts[i];
		fprintf(f, "%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
		    (double)bounds_us[i] / 1e6, count);
	}
	count += h->counts[METRICS_BOUNDS];
	fprintf(f, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, count);
	fprintf(f, "%s_sum %.6f\n%s_count %" PRIu64 "\n", name,
	    (double)h->sum_us / 1e6, name, count);
}

static void
put_workers(FILE *f, const struct dispatcher_status *st)
{
	static const char name[] = "adder_workers";

	head(f, name, "gauge", "Worker processes by state.");
	fprintf(f, "%s{state=\"idle\"} %u\n%s{state=\"busy\"} %u\n"
	    "%s{state=\"starting\"} %u\n", name, st->workers_idle, name,
	    st->workers_busy, name, st->workers_starting);
	head(f, "adder_workers_prefaulted", "gauge", "Idle workers that have "
	    "touched ahead what their jobs may use.");
	fprintf(f, "adder_workers_prefaulted %u\n", st->workers_prefaulted);
}

static void
put_calls(FILE *f, const struct dispatcher_status *st)
{
	enum verdict v;

	head(f, "adder_calls_total", "counter", "Calls that ended, by "
	    "verdict.");
	for (v = 0; v < VERDICT_COUNT; v++)
		fprintf(f, "adder_calls_total{verdict=\"%s\"} %" PRIu64 "\n",
		    verdict_name(v), st->calls[v]);
}

static void
put_sessions(FILE *f, const struct dispatcher_status *st)
{
	static const char ended[] = "adder_sessions_ended_total";

	one(f, "adder_sessions", "gauge", "Sessions that keep variables.",
	    st->sessions_open);
	one(f, "adder_sessions_busy", "gauge", "Sessions in which a call "
	    "runs.", st->sessions_busy);
	one(f, "adder_sessions_memory_bytes", "gauge", "Memory that all "
	    "sessions hold, as far as control groups count it.",
	    st->sessions_memory);
	one(f, "adder_sessions_opened_total", "counter", "Sessions that were "
	    "started or forked.", st->sessions_opened);
	head(f, ended, "counter", "Sessions that ended unasked.");
	fprintf(f, "%s{cause=\"expired\"} %" PRIu64 "\n%s{cause=\"lost\"} %"
	    PRIu64 "\n%s{cause=\"evicted\"} %" PRIu64 "\n", ended,
	    st->sessions_expired, ended, st->sessions_lost, ended,
	    st->sessions_evicted);
}

static void
put_environments(FILE *f, const struct dispatcher_status *st)
{
	static const char installs[] = "adder_installs_total";

	one(f, "adder_environment_zygotes", "gauge", "Sets of packages that "
	    "a zygote serves.", st->environments_zygotes);
	one(f, "adder_environments_held", "gauge", "Sets of packages that "
	    "sessions hold.", st->environments_sessions);
	head(f, installs, "counter", "Installations of a set of packages.");
	fprintf(f, "%s{outcome=\"made\"} %" PRIu64 "\n%s{outcome=\"failed\"} %"
	    PRIu64 "\n", installs, st->environments_installs, installs,
	    st->environments_failures);
	one(f, "adder_environment_evictions_total", "counter", "Sets of "
	    "packages that were removed to make room.",
	    st->environments_evictions);
}

static void
put_jobs(FILE *f, const struct metrics *m)
{
	put_histogram(f, "adder_run_seconds", "Wall-clock time of a program.",
	    &m->wall);
	put_histogram(f, "adder_cpu_seconds", "CPU time of a program.",
	    &m->cpu);
	put_histogram(f, "adder_queue_seconds", "Time that a program waited "
	    "for a worker.", &m->queue);
	head(f, "adder_output_bytes_total", "counter", "Bytes that programs "
	    "wrote.");
	fprintf(f, "adder_output_bytes_total{stream=\"stdout\"} %" PRIu64
	    "\nadder_output_bytes_total{stream=\"stderr\"} %" PRIu64 "\n",
	    m->output[JOB_STDOUT], m->output[JOB_STDERR]);
}

char *
metrics_text(const struct dispatcher_status *st, unsigned clients,
    size_t *len)
{
	char *text;
	FILE *f = open_memstream(&text, len);

	head(f, "adder_info", "gauge", "Version of the server.");
	fprintf(f, "adder_info{version=\"%s\"} 1\n", PACKAGE_VERSION);
	one(f, "adder_ready", "gauge", "Whether Python is ready.",
	    st->ready != 0);
	one(f, "adder_warm", "gauge", "Whether its libraries are warmed up.",
	    st->warm != 0);
	put_workers(f, st);
	one(f, "adder_queue_length", "gauge", "Programs that wait for a "
	    "worker.", st->queued);
	head(f, "adder_queue_age_seconds", "gauge", "How long the one that "
	    "waits longest has waited.");
	fprintf(f, "adder_queue_age_seconds %.6f\n",
	    (double)st->queue_age_us / 1e6);
	one(f, "adder_clients", "gauge", "MCP sessions.", clients);
	one(f, "adder_generation", "gauge", "Number of the zygote that "
	    "serves.", st->generation);
	one(f, "adder_zygote_restarts_total", "counter", "Zygotes started "
	    "in place of one that was gone.", st->zygote_restarts);
	head(f, "adder_zygote_import_seconds", "gauge", "Time that the last "
	    "zygote took to import its modules.");
	fprintf(f, "adder_zygote_import_seconds %.3f\n",
	    (double)st->zygote_import_ms / 1e3);
	put_sessions(f, st);
	put_environments(f, st);
	put_calls(f, st);
	if (st->metrics != NULL)
		put_jobs(f, st->metrics);
	fclose(f);
	return text;
}
