//! Keys of fio that a simulated drive cannot serve, each with the reason. Keys that merely have no effect are in
//! [`super::no_effect`].

/// Keys about data that outlives a run.
const OTHER_RUNS: &str = "data does not outlive a run; a job that writes and has verify reads its data back, and one \
                          that reads and has verify checks what it reads";
/// Keys about merging traces.
const MERGES: &str = "several traces are not merged; name them in read_iolog, separated by colons, to replay them side \
                      by side";
/// Keys about fio's built-in tests.
const PROFILES: &str = "fio's built-in tests are not part of a job file; write their jobs out";
/// Keys that fio never had in this form.
const INITIAL: &str = "zones begin as --precondition leaves them: empty, or full with fill";
/// Keys of engines that load the host.
const LOADS_HOST: &str = "it belongs to an engine that loads the host and not a drive";
/// Keys of engines that send data over a network.
const SENDS: &str = "it belongs to an engine that sends data over a network and not to a drive";
/// Keys of engines that work on files as a whole.
const WHOLE_FILES: &str = "it belongs to an engine that works on whole files, and there are no files";
/// Keys about metadata.
const METADATA: &str = "sectors have no metadata or protection information";
/// Keys about commands.
const COMMANDS: &str = "it replaces reads and writes by other commands";

/// Keys about trims of several ranges.
const RANGES: &str = "each trim names one range";
/// Keys about the placement of data by offset.
const SCHEME: &str =
    "a file that maps offsets to placement identifiers is not read; use plids with roundrobin or random";
/// Keys that fio has dropped.
const DEPRECATED: &str = "fio itself no longer accepts it; use rwmixread, or percentage_random";
/// Keys about the end of a ramp.
const RAMP: &str = "a ramp ends after a time; use ramp_time";
/// Keys about orders of random requests that newer versions of fio have.
const ORDER: &str = "random requests have no such order; --precondition steady begins with a drive in its steady state";
/// Keys about power cuts.
const POLICY: &str = "a job does not crash; nandram guest cuts the power of a drive";

const KEYS: &[(&str, &[&str])] = &[
    (OTHER_RUNS, &["verify_only", "verify_table"]),
    (MERGES, &["merge_blktrace_file", "merge_blktrace_scalars", "merge_blktrace_iters"]),
    (PROFILES, &["profile"]),
    (INITIAL, &["initial_zone_reset"]),
    (
        LOADS_HOST,
        &["cpuload", "cpuchunks", "cpumode", "exit_on_io_done", "program", "arguments", "grace_time", "std_redirect"],
    ),
    (
        SENDS,
        &[
            "nodelay",
            "listen",
            "pingpong",
            "interface",
            "ttl",
            "window_size",
            "mss",
            "bindname",
            "verb",
            "serverip",
            "http_verbose",
            "http_host",
            "http_user",
            "http_pass",
            "https",
            "http_mode",
            "http_s3_key",
            "http_s3_keyid",
            "http_s3_region",
            "http_s3_sse_customer_key",
            "http_s3_sse_customer_algorithm",
            "http_s3_storage_class",
            "http_s3_security_token",
            "http_swift_auth_token",
            "http_object_mode",
        ],
    ),
    (WHOLE_FILES, &["donorname", "inplace", "stat_type"]),
    (METADATA, &["md_per_io_size", "pi_act", "pi_chk", "apptag", "apptag_mask"]),
    (COMMANDS, &["sg_write_mode", "write_mode", "read_mode", "verify_mode", "verify_bytchk", "deac", "zone_append"]),
    (RANGES, &["num_range"]),
    (SCHEME, &["dp_scheme"]),
    (DEPRECATED, &["rwmixcycle", "percentage_sequential"]),
    (RAMP, &["ramp_size"]),
    (ORDER, &["random_sequence_stride", "sprandom", "spr_cs", "spr_num_regions", "spr_op"]),
    (POLICY, &["verify_policy"]),
];

/// Returns why a simulated drive cannot serve this key of fio.
pub(super) fn find(name: &str) -> Option<&'static str> {
    KEYS.iter().find_map(|(why, names)| names.contains(&name).then_some(*why))
}

/// Returns the names of all such keys.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|(_, names)| names.iter().copied())
}
