/* SPDX-License-Identifier: GPL-2.0-only
 *
 * nandram's I/O engine for fio. It includes fio's headers, which are under version 2 of the GNU General Public License, and so
 * is this file. All else that it uses (turns.c, libnandram) is nandram's, under MIT or Apache-2.0.
 *
 * fio takes every time from a page that it can share with a process that keeps it up to date (`gtod_cpu=`). The engine
 * puts the simulated time there. Sleep is libc's: preloaded, this library puts `nanosleep` of fio's jobs on the simulated
 * clock, too. */
#include "fio.h"
#include "optgroup.h"

#include "turns.h"

#include <dlfcn.h>

/* Absent where the library is preloaded into another program, such as a shell that fio starts. */
#pragma weak fio_gtod_offload
#pragma weak fio_ts
#pragma weak log_err

#define NS 1000
/* Some of fio's times are 0 until they are set. */
#define BEGIN_S 1000000

struct options {
    void *pad; /* fio takes offset 0 for no option */
    char *system;
    char *set;
    char *prepare;
    char *cache;
    char *summary;
    unsigned int seed;
};

#define TEXT(field, text) \
    { \
        .name = #field, .lname = #field, .type = FIO_OPT_STR_STORE, .off1 = offsetof(struct options, field), .help = text, \
        .category = FIO_OPT_C_ENGINE, .group = FIO_OPT_G_INVALID \
    }

static struct fio_option options[] = {
    TEXT(system, "Simulated drive: a preset or a system file"),
    TEXT(set, "Changes of the system, KEY=VALUE, separated by blanks; scale=1/64 for a smaller copy"),
    TEXT(prepare, "State of the drive before the run: none (default), fill, random, steady or rested"),
    TEXT(cache, "Folder for prepared drives"),
    TEXT(summary, "File for the drive's summary, in JSON"),
    {
        .name = "seed",
        .lname = "seed",
        .type = FIO_OPT_INT,
        .off1 = offsetof(struct options, seed),
        .help = "Seed of the drive's random draws",
        .def = "1",
        .category = FIO_OPT_C_ENGINE,
        .group = FIO_OPT_G_INVALID,
    },
    {.name = NULL},
};

/* One job. */
struct job {
    struct turns_worker *worker;
    unsigned int depth;
    struct turns_done done[]; /* of the last wait */
};

/* A job that fio has set up; a stonewall may delay its begin. */
struct entry {
    const struct thread_data *td;
    bool joined;
};

static struct fio_ts clock_page;
static struct entry *entries;
static unsigned int entry_count;
static __thread struct turns_worker *self;
static struct options drive; /* of the first job; the others have the same */

static void show(uint64_t now) {
    uint64_t ns = now / NS;
    write_seqlock_begin(&clock_page.seqlock);
    clock_page.ts.tv_sec = BEGIN_S + ns / 1000000000;
    clock_page.ts.tv_nsec = ns % 1000000000;
    write_seqlock_end(&clock_page.seqlock);
}

static int job_sleep(const struct timespec *duration, struct timespec *left) {
    if (self) {
        turns_sleep(self, ((uint64_t)duration->tv_sec * 1000000000 + duration->tv_nsec) * NS);
        return 0;
    }
    errno = clock_nanosleep(CLOCK_REALTIME, 0, duration, left);
    return errno ? -1 : 0;
}

int nanosleep(const struct timespec *duration, struct timespec *left) __attribute__((alias("job_sleep")));

/* fio starts the jobs of a group together, but each joins from its own thread. */
static bool absent(void) {
    for (unsigned int i = 0; i < entry_count; i++) {
        int state = entries[i].td->runstate;
        if (state >= TD_CREATED && state < TD_EXITED && !entries[i].joined)
            return true;
    }
    return false;
}

static int refuse(const struct thread_data *td, const char *option, const char *why) {
    log_err("nandram: job %s: %s: %s\n", td->o.name, option, why);
    return 1;
}

/* Refuses options that need data, another job's progress, or time that passes without a wait for a request or a sleep. */
static int check(const struct thread_data *td) {
    const struct thread_options *o = &td->o;
    const char *sleeps = o->thinktime ? "thinktime" : o->read_iolog_file && !o->no_stall ? "read_iolog" : NULL;
    for (int way = 0; way < DDIR_RWDIR_CNT; way++) {
        if (o->rate[way] || o->rate_iops[way])
            sleeps = "rate";
    }
    if (sleeps && dlsym(RTLD_DEFAULT, "nanosleep") != (void *)job_sleep)
        return refuse(td, sleeps, "needs simulated sleep: run fio with LD_PRELOAD=libnandram_fio.so");
    if (fio_gtod_offload)
        return refuse(td, "gtod_cpu", "the engine is fio's clock, so no processor can be");
    if (o->verify)
        return refuse(td, "verify", "the drive simulates times, and keeps no data");
    if (o->thinktime_spin)
        return refuse(td, "thinktime_spin", "no time passes in a loop, expected thinktime alone");
    if (o->start_delay)
        return refuse(td, "startdelay", "no time passes before a job runs");
    if (o->wait_for)
        return refuse(td, "wait_for", "fio would start the job at a time of the host, expected stonewall");
    if (o->flow)
        return refuse(td, "flow", "no time passes until another job makes progress");
    if (o->ss_dur)
        return refuse(td, "steadystate_duration", "fio measures it in the host's time");
    return 0;
}

static bool same(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static int open_drive(const struct options *o) {
    char *set = o->set ? strdup(o->set) : NULL;
    for (char *at = set; at && *at; at++)
        *at = *at == ' ' || *at == '\t' ? '\n' : *at;
    nandram_sim_device device = {.system = o->system, .set = set, .prepare = o->prepare, .cache = o->cache};
    int code = turns_open(&device, o->seed, show, absent);
    free(set);
    if (code != NANDRAM_OK)
        log_err("nandram: %s\n", nandram_message());
    else
        drive = *o;
    return code != NANDRAM_OK;
}

static int setup(struct thread_data *td) {
    const struct options *o = td->eo;
    if (check(td))
        return 1;
    if (!o->system)
        return refuse(td, "system", "missing, expected a preset or a system file, such as system=nvme-client-tlc");
    if (!drive.system && open_drive(o))
        return 1;
    if (!same(o->system, drive.system) || !same(o->set, drive.set) || !same(o->prepare, drive.prepare) ||
        o->seed != drive.seed)
        return refuse(td, "system", "expected the system, set, prepare and seed of the first job: all share one drive");
    struct entry *grown = realloc(entries, (entry_count + 1) * sizeof(*entries));
    if (!grown)
        return ENOMEM;
    entries = grown;
    entries[entry_count++] = (struct entry){.td = td};
    td->o.use_thread = 1;
    for (unsigned int i = 0; i < td->files_index; i++) {
        td->files[i]->filetype = FIO_TYPE_BLOCK;
        td->files[i]->real_file_size = turns_bytes();
        fio_file_set_size_known(td->files[i]);
    }
    return 0;
}

static struct entry *entry_of(const struct thread_data *td) {
    for (unsigned int i = 0; i < entry_count; i++) {
        if (entries[i].td == td)
            return &entries[i];
    }
    return NULL;
}

static int init(struct thread_data *td) {
    struct entry *entry = entry_of(td);
    if (!entry)
        return refuse(td, "create_serialize", "found 0, expected 1: the jobs share one drive");
    struct job *job = calloc(1, sizeof(*job) + td->o.iodepth * sizeof(job->done[0]));
    if (!job)
        return ENOMEM;
    job->depth = td->o.iodepth;
    job->worker = turns_join(td->thread_number - 1, job->depth);
    if (!job->worker) {
        free(job);
        return ENOMEM;
    }
    self = job->worker;
    td->io_ops_data = job;
    entry->joined = true;
    return 0;
}

static void cleanup(struct thread_data *td) {
    struct job *job = td->io_ops_data;
    const struct options *o = td->eo;
    if (!job)
        return;
    int error = o->summary ? turns_summary(o->summary) : 0;
    if (error) {
        log_err("nandram: summary: %s: %s\n", o->summary, strerror(-error));
        td->error = -error;
    }
    self = NULL;
    turns_leave(job->worker);
    free(job);
    td->io_ops_data = NULL;
}

static enum fio_q_status queue(struct thread_data *td, struct io_u *io_u) {
    struct job *job = td->io_ops_data;
    uint64_t address = io_u->offset, bytes = io_u->xfer_buflen;
    uint8_t op;
    switch (io_u->ddir) {
    case DDIR_READ:
        op = NANDRAM_SIM_READ;
        break;
    case DDIR_WRITE:
        op = NANDRAM_SIM_WRITE | (td->o.sync_io ? NANDRAM_SIM_FUA : 0);
        break;
    case DDIR_TRIM:
        op = NANDRAM_SIM_TRIM;
        break;
    case DDIR_SYNC:
    case DDIR_DATASYNC:
        op = NANDRAM_SIM_FLUSH;
        address = bytes = 0;
        break;
    default:
        io_u->error = EINVAL;
        return FIO_Q_COMPLETED;
    }
    if (turns_submit(job->worker, op, address, bytes, io_u) == NANDRAM_OK)
        return FIO_Q_QUEUED;
    log_err("nandram: %s\n", nandram_message());
    io_u->error = EINVAL;
    return FIO_Q_COMPLETED;
}

static int getevents(struct thread_data *td, unsigned int least, unsigned int most, const struct timespec *limit) {
    struct job *job = td->io_ops_data;
    return (int)turns_wait(job->worker, least, job->done, most < job->depth ? most : job->depth);
}

static struct io_u *event(struct thread_data *td, int number) {
    const struct turns_done *done = &((struct job *)td->io_ops_data)->done[number];
    struct io_u *io_u = done->handle;
    io_u->error = done->status == NANDRAM_SIM_OK ? 0 : done->status == NANDRAM_SIM_NO_SPACE ? ENOSPC : EIO;
    io_u->resid = io_u->error ? io_u->xfer_buflen : 0;
    return io_u;
}

static int nothing(struct thread_data *td, struct fio_file *file) { return 0; }

/* fio looks for this name. */
struct ioengine_ops ioengine = {
    .name = "nandram",
    .version = FIO_IOOPS_VERSION,
    .flags = FIO_DISKLESSIO | FIO_NODISKUTIL | FIO_NOEXTEND | FIO_NO_OFFLOAD,
    .setup = setup,
    .init = init,
    .cleanup = cleanup,
    .queue = queue,
    .getevents = getevents,
    .event = event,
    .open_file = nothing,
    .close_file = nothing,
    .invalidate = nothing,
    .options = options,
    .option_struct_size = sizeof(struct options),
};

/* The clock is the simulated one from the beginning, so that fio measures sleep as exact. */
__attribute__((constructor)) static void begin(void) {
    show(0);
    if (&fio_ts)
        fio_ts = &clock_page;
}
