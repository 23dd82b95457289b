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
/// Keys about memory that the host's page cache would take.
const CACHE: &str = "there is no page cache: each request goes to the drive";
/// Keys about overlapping requests.
const OVERLAPS: &str = "requests that overlap are not held back; the drive orders them";
/// Keys that fio passes on to engines, none of which acts on them.
const BARRIERS: &str = "no engine of fio acts on it";
/// Keys about single requests.
const SECTORS: &str = "requests are whole sectors, and each is written in full or not at all";
/// Keys about forced unit access of reads.
const FUA: &str = "a read returns the newest data, whether or not it is durable";
/// Keys about the replay of traces.
const STREAMS: &str = "traces are always read in parts";
/// Keys about flows.
const WEIGHTS: &str = "flow alone determines the shares of the jobs, as in newer versions of fio";
/// Keys about priorities.
const PRIORITIES: &str = "requests have no priorities";

const KEYS: &[(&str, &[&str])] = &[
    (
        FILES,
        &[
            "directory",
            "filename_format",
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
            "opendir",
            "filetype",
            "end_syncfs",
            "thp",
            "single-instance",
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
            "comm",
            "thinkcycles",
            "rocm_io",
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
            "write_hist_log",
            "log_hist_msec",
            "log_hist_coarseness",
            "log_entries",
            "log_window_value",
            "log_issue_time",
            "log_compression",
            "log_compression_cpus",
            "log_store_compressed",
            "log_unix_epoch",
            "log_alternate_epoch",
            "log_alternate_epoch_clock_id",
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
            "significant_figures",
            "stats",
            "ratemin",
            "rate_min",
            "rate_iops_min",
            "rate_cycle",
            "ratecycle",
            "steadystate_check_interval",
            "ss_interval",
            "unit_base",
            "job_start_clock_id",
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
            "verify_pattern_interval",
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
            "chunck_size",
            "svcl",
            "proto",
            "initiator",
            "hdfs_use_direct",
            "single_instance",
            "rbd_encryption_format",
            "rbd_encryption_passphrase",
            "libblkio_driver",
            "libblkio_path",
            "libblkio_pre_connect_props",
            "libblkio_pre_start_props",
            "spdk_conf",
            "spdk_json_conf",
            "json_spdk_conf",
            "host_nqn",
            "shm_id",
            "mem_size_mb",
            "env_context",
            "stream_id",
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
            "xnvme_be",
            "xnvme_mem",
            "xnvme_dev_subnqn",
            "libblkio_num_entries",
            "libblkio_queue_size",
            "libblkio_vectored",
            "libblkio_write_zeroes_on_trim",
            "libblkio_wait_mode",
            "libblkio_force_enable_completion_eventfd",
            "libaio_vectored",
            "no_completion_thread",
            "cdb_len",
            "dummy",
            "enable_sgl",
            "sge_size",
            "disable_pcie_sgl_merge",
            "enable_vmd",
            "print_qid_mappings",
            "num_qpairs",
            "spdk_core_mask",
            "spdk_tracing",
            "busy_wait_polling",
        ],
    ),
    (CACHE, &["uncached"]),
    (OVERLAPS, &["serialize_overlap"]),
    (BARRIERS, &["write_barrier", "barrier"]),
    (SECTORS, &["atomic", "bs_unaligned", "blocksize_unaligned"]),
    (FUA, &["readfua"]),
    (STREAMS, &["read_iolog_chunked"]),
    (WEIGHTS, &["flow_watermark"]),
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
