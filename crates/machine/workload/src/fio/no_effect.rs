//! Keys that are accepted without effect, because the simulation has no counterpart. The results list them.

/// Keys about file systems.
const FILES: &str = "there are no files, only the drive";
/// Keys about the host.
const HOST: &str = "the host's processors, memory and processes are not part of the model";
/// Keys about the contents of requests.
const CONTENT: &str = "requests carry no content that a drive could compress or deduplicate";
/// Keys about logs and reports.
const REPORTS: &str = "results always include latencies and throughput over time";
/// Keys about errors.
const ERRORS: &str = "only continue_on_error decides which errors end a job";
/// Keys about verification.
const CHECKS: &str = "payload is checked by a stamp in each sector";
/// Keys about other kinds of storage.
const PLACES: &str = "the simulated drive replaces the named one";
/// Keys about the interface to the kernel.
const CALLS: &str = "the simulated driver has its own submission and completion path";
/// Keys about priorities.
const PRIORITIES: &str = "requests have no priorities";

const KEYS: &[(&str, &[&str])] = &[
    (
        FILES,
        &[
            "directory",
            "filename_format",
            "file_service_type",
            "openfiles",
            "file_append",
            "fallocate",
            "fadvise_hint",
            "create_serialize",
            "create_fsync",
            "create_on_open",
            "create_only",
            "allow_file_create",
            "allow_mounted_write",
            "unlink",
            "unlink_each_loop",
            "overwrite",
            "fill_device",
            "fill_fs",
            "pre_read",
            "lockfile",
            "unique_filename",
            "sync_file_range",
            "write_hint",
        ],
    ),
    (
        HOST,
        &[
            "cpus_allowed",
            "cpus_allowed_policy",
            "cpumask",
            "numa_cpu_nodes",
            "numa_mem_policy",
            "nice",
            "cgroup",
            "cgroup_weight",
            "cgroup_nodelete",
            "uid",
            "gid",
            "threads",
            "iomem",
            "mem",
            "iomem_align",
            "mem_align",
            "hugepage-size",
            "lockmem",
            "gtod_cpu",
            "clocksource",
            "exec_prerun",
            "exec_postrun",
            "ioscheduler",
            "gpu_dev_ids",
            "gpu_dev_id",
            "cuda_io",
            "thinktime_spin",
            "unified_rw_reporting",
            "allrandrepeat",
            "softrandommap",
        ],
    ),
    (
        CONTENT,
        &[
            "zero_buffers",
            "refill_buffers",
            "scramble_buffers",
            "buffer_compress_percentage",
            "buffer_compress_chunk",
            "buffer_pattern",
            "dedupe_percentage",
            "dedupe_mode",
            "dedupe_working_set_percentage",
            "dedupe_global",
        ],
    ),
    (
        REPORTS,
        &[
            "write_bw_log",
            "write_lat_log",
            "write_iops_log",
            "write_hist_log",
            "log_avg_msec",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_max_value",
            "log_offset",
            "log_prio",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "log_unix_epoch",
            "log_alternate_epoch",
            "log_alternate_epoch_clock_id",
            "per_job_logs",
            "block_error_percentiles",
            "bwavgtime",
            "iopsavgtime",
            "disk_util",
            "disable_lat",
            "disable_clat",
            "disable_slat",
            "disable_bw",
            "disable_bw_measurement",
            "clat_percentiles",
            "slat_percentiles",
            "lat_percentiles",
            "percentile_list",
            "significant_figures",
            "stats",
            "ratemin",
            "rate_min",
            "rate_iops_min",
            "rate_cycle",
            "ratecycle",
            "steadystate_check_interval",
            "ss_interval",
        ],
    ),
    (ERRORS, &["ignore_error", "error_dump", "skip_bad"]),
    (
        CHECKS,
        &[
            "verify_pattern",
            "verify_interval",
            "verify_offset",
            "verify_fatal",
            "verify_dump",
            "verify_async",
            "verify_async_cpus",
            "verifysort",
            "verifysort_nr",
            "verify_backlog_batch",
            "verify_header_seed",
            "verify_write_sequence",
            "trim_verify_zero",
            "experimental_verify",
            "verify_state_save",
            "verify_state_load",
        ],
    ),
    (
        PLACES,
        &[
            "replay_redirect",
            "hostname",
            "port",
            "protocol",
            "uri",
            "volume",
            "brick",
            "pool",
            "cont",
            "object_class",
            "chunk_size",
            "namenode",
            "hdfsdirectory",
            "rbdname",
            "clientname",
            "clustername",
            "conf",
            "busy_poll",
            "touch_objects",
            "nfs_url",
        ],
    ),
    (
        CALLS,
        &[
            "hipri",
            "hipri_percentage",
            "registerfiles",
            "fixedbufs",
            "sqthread_poll",
            "sqthread_poll_cpu",
            "nowait",
            "userspace_reap",
            "io_submit_mode",
            "iodepth_batch_complete_max",
            "force_async",
            "cmd_type",
            "nonvectored",
            "direct_write_to_pmem",
            "xnvme_async",
            "xnvme_sync",
            "xnvme_admin",
            "xnvme_dev_nsid",
            "xnvme_iovec",
            "busy_wait_polling",
        ],
    ),
    (
        PRIORITIES,
        &[
            "prio",
            "prioclass",
            "priohint",
            "cmdprio",
            "cmdprio_class",
            "cmdprio_hint",
            "cmdprio_percentage",
            "cmdprio_bssplit",
        ],
    ),
];

/// Returns the key without effect of this name, and the reason.
pub(super) fn find(name: &str) -> Option<(&'static str, &'static str)> {
    KEYS.iter().find_map(|(why, names)| Some((*names.iter().find(|known| **known == name)?, *why)))
}

/// Returns the names of all keys without effect.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|(_, names)| names.iter().copied())
}
