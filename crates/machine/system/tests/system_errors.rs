//! Every error in a system file is one line: the position, the key, what was found and what was expected.

use std::fs;

use system::System;

/// Lines of the file `bad.toml`, assignments of the command line, and the expected message.
type Case = (&'static [&'static str], &'static [(&'static str, &'static str)], &'static str);

const CASES: &[Case] = &[
    (
        &["extends = \"nvme-enterprise-tlc\"", "[ftl.placement]", "handles = 4"],
        &[],
        r#"bad.toml:3:1: ftl.placement.handles: set where ftl.placement.isolation is "off", expected only where it is "initial" or "persistent""#,
    ),
    (
        &["extends = \"nvme-enterprise-tlc\"", "[ftl.placement]", "isolation = \"full\""],
        &[],
        r#"bad.toml:3:13: ftl.placement.isolation: found "full", expected "off", "initial" or "persistent"; the nearest is "off""#,
    ),
    (
        &["extends = \"nvme-enterprise-tlc\"", "[ftl.placement]", "isolation = \"initial\"", "handles = 17"],
        &[],
        "bad.toml:4:11: ftl.placement.handles: found 17, expected 2 to 16",
    ),
    (
        &["extends = \"nvme-client-tlc\"", "ftl.placement.isolation = \"initial\""],
        &[("ftl.slc_cache.size", "1GiB")],
        r#"--set ftl.slc_cache.size=1GiB: ftl.placement.isolation is "initial", expected off where an SLC cache takes host data first, which would mix the data of handles"#,
    ),
    (
        &["extends = \"hmb-a\"", "[device.read_cache]", "allocation = \"mis\""],
        &[],
        r#"bad.toml:3:14: device.read_cache.allocation: found "mis", expected "fill" or "miss"; the nearest is "miss""#,
    ),
    (
        &["extends = \"nvme-client-tlc\"", "[device.read_cache]", "place = \"slc\"", "allocation = \"miss\""],
        &[],
        r#"bad.toml:4:1: device.read_cache.allocation: set where device.read_cache.place is "slc", expected only where it is "dram" or "sram""#,
    ),
    (
        &["extends = \"sata-mlc\"", "ftl.placement.isolation = \"initial\""],
        &[],
        r#"bad.toml:2:15: ftl.placement.isolation is "initial", expected off where link.type is not "pcie": only NVMe commands carry placement identifiers"#,
    ),
    (
        &["extends = \"wd-zn540\"", "[flash]", "order = \"any\""],
        &[],
        r#"bad.toml:3:1: flash.order is "any", expected in-order where device.namespace is "zoned""#,
    ),
    (
        &["link.type = \"none\"", "[memory]", "type = \"dram\"", "refresh = \"same-bank\""],
        &[],
        r#"bad.toml:4:1: memory.refresh is "same-bank", expected all-bank but for ddr5-4800"#,
    ),
    (
        &["link.type = \"none\"", "[memory]", "type = \"dram\"", "standard = \"ddr5-4800\"", "refresh = \"per-bank\""],
        &[],
        r#"bad.toml:5:1: memory.refresh is "per-bank", expected all-bank but for hbm4-8000"#,
    ),
    (
        &["link.type = \"none\"", "[memory]", "type = \"dram\"", "standard = \"ddr5-4800\"", "refresh_postpone = 5"],
        &[],
        "bad.toml:5:1: memory.refresh_postpone is 5, expected at most 4, which ddr5-4800 may owe",
    ),
    (
        &[
            "link.type = \"none\"",
            "[memory]",
            "type = \"dram\"",
            "standard = \"ddr5-4800\"",
            "refresh = \"same-bank\"",
            "refresh_postpone = 1",
        ],
        &[],
        "bad.toml:6:1: memory.refresh_postpone is 1, expected 0 where memory.refresh is not all-bank",
    ),
    (
        &["link.type = \"none\"", "[memory]", "type = \"dram\"", "write_queue = 16"],
        &[],
        "bad.toml:4:1: memory.write_high is 26, expected at most 16, the write queue",
    ),
    (
        &["link.type = \"none\"", "[memory]", "type = \"dram\"", "write_low = 26"],
        &[],
        "bad.toml:4:1: memory.write_low is 26, expected less than 26, where a drain begins",
    ),
    (
        &["link.type = \"none\"", "[memory]", "type = \"dram\"", "row_policy = \"close\""],
        &[],
        r#"bad.toml:4:14: memory.row_policy: found "close", expected "open", "closed" or "timeout"; the nearest is "closed""#,
    ),
    (
        &["link.type = \"none\"", "[memory]", "type = \"dram\"", "read_queue = 129"],
        &[],
        "bad.toml:4:14: memory.read_queue: found 129, expected 1 to 128",
    ),
    (
        &["link.type = \"none\"", "[memory]", "type = \"dram\"", "row_timeout = \"100ns\""],
        &[],
        r#"bad.toml:4:1: memory.row_timeout: set where memory.row_policy is "open", expected only where it is "timeout""#,
    ),
    (&["[flash]", "chanels = 8"], &[], r#"bad.toml:2:1: unknown key "flash.chanels", the nearest is "flash.channels""#),
    (&["[flsh]", "channels = 8"], &[], r#"bad.toml:1:2: unknown key "flsh", the nearest is "flash""#),
    (&["chanels = 8"], &[], r#"bad.toml:1:1: unknown key "chanels", the nearest is "flash.channels""#),
    (
        &["[flash]", "queue_depth = 8"],
        &[],
        r#"bad.toml:2:1: unknown key "flash.queue_depth", the nearest is "host.queue_depth""#,
    ),
    (
        &[r#"title = "x""#, r#"flash.ecc.codword = "1KiB""#],
        &[],
        r#"bad.toml:2:11: unknown key "flash.ecc.codword", the nearest is "flash.ecc.codeword""#,
    ),
    (&["flash = 8"], &[], "bad.toml:1:1: flash: found 8, expected a table"),
    (&["[[flash]]", "channels = 8"], &[], "bad.toml:1:3: flash: found a list, expected a table"),
    (
        &["[flash.channels]", "count = 8"],
        &[],
        "bad.toml:1:1: flash.channels: found a table, expected a whole number from 1 to 256",
    ),
    (
        &["[flash]", r#"channels = "eight""#],
        &[],
        r#"bad.toml:2:12: flash.channels: found "eight", expected a whole number from 1 to 256"#,
    ),
    (
        &["[flash]", "channels = 8.5"],
        &[],
        "bad.toml:2:12: flash.channels: found 8.5, expected a whole number from 1 to 256",
    ),
    (
        &["[flash]", "channels = -8"],
        &[],
        "bad.toml:2:12: flash.channels: found -8, expected a whole number from 1 to 256",
    ),
    (&["[flash]", "channels = 0"], &[], "bad.toml:2:12: flash.channels: found 0, expected 1 to 256"),
    (
        &["[flash]", "channels = 1979-05-27"],
        &[],
        "bad.toml:2:12: flash.channels: found the date 1979-05-27, expected a whole number from 1 to 256",
    ),
    (
        &["[flash]", "read = 75"],
        &[],
        r#"bad.toml:2:8: flash.read: found 75 without a unit, expected a time such as "25us", or a list with one per page type"#,
    ),
    (
        &["[flash]", r#"read = "75""#],
        &[],
        r#"bad.toml:2:8: flash.read: found "75" without a unit, expected a time such as "25us""#,
    ),
    (
        &["[flash]", r#"read = "75µs""#],
        &[],
        r#"bad.toml:2:8: flash.read: found the unit "µs" in "75µs", expected one of ps, ns, us, ms, s, min, h, d"#,
    ),
    (&["[flash]", "read = 75us"], &[], "bad.toml:2:8: not TOML: string values must be quoted, expected literal string"),
    (
        &["<?xml version=\"1.0\"?>"],
        &[],
        "bad.toml:1:7: not TOML: found XML; nandram import turns MQSim's into a system file",
    ),
    (
        &["[flash]", r#"read = "fast""#],
        &[],
        r#"bad.toml:2:8: flash.read: found "fast", expected a time with its unit, such as "25us""#,
    ),
    (&["[flash]", r#"read = "0s""#], &[], r#"bad.toml:2:8: flash.read: found "0s", expected at least 1ps"#),
    (
        &["[flash]", "read = []"],
        &[],
        r#"bad.toml:2:8: flash.read: found an empty list, expected a time such as "25us", or a list with one per page type"#,
    ),
    (
        &["[flash]", r#"cell = "tlc""#, r#"read = ["50us", "60us"]"#],
        &[],
        r#"bad.toml:3:1: flash.read has 2 times, expected 1 or 3 (flash.cell is "tlc")"#,
    ),
    (
        &["[flash]", r#"read = ["50us", 60, "70us"]"#],
        &[],
        r#"bad.toml:2:8: flash.read: found 60 without a unit, expected a time such as "25us", or a list with one per page type"#,
    ),
    (
        &["[flash]", r#"rate = "333MHz""#],
        &[],
        r#"bad.toml:2:8: flash.rate: found the unit "MHz" in "333MHz", expected one of MT/s, GT/s"#,
    ),
    (
        &["[flash]", "page = 16384"],
        &[],
        r#"bad.toml:2:8: flash.page: found 16384 without a unit, expected a size such as "8KiB""#,
    ),
    (
        &["[flash]", r#"page = "16kib""#],
        &[],
        r#"bad.toml:2:8: flash.page: found the unit "kib" in "16kib", expected "KiB""#,
    ),
    (
        &["[flash]", r#"page = "6KiB""#],
        &[],
        r#"bad.toml:2:1: flash.page is "6KiB", expected a multiple of ftl.unit (4KiB)"#,
    ),
    (
        &["[flash]", r#"age = "3 months""#],
        &[],
        r#"bad.toml:2:7: flash.age: found the unit "months" in "3 months", expected a long time such as "90d" (y, d, h, min, s)"#,
    ),
    (
        &["[flash]", r#"cache_read = "yes""#],
        &[],
        r#"bad.toml:2:14: flash.cache_read: found "yes", expected true or false"#,
    ),
    (&["[flash]", r#"bad_blocks = "60%""#], &[], r#"bad.toml:2:14: flash.bad_blocks: found "60%", expected 0 to 0.5"#),
    (
        &["[flash]", r#"power = { read = "1.5" }"#],
        &[],
        r#"bad.toml:2:18: flash.power.read: found "1.5" without a unit, expected a power such as "60mW""#,
    ),
    (
        &["[link]", r#"type = "pci""#],
        &[],
        r#"bad.toml:2:8: link.type: found "pci", expected one of "pcie", "sata", "ufs", "ddr", "shared-buffer", "onenand", … (7 in total); the nearest is "pcie""#,
    ),
    (
        &["[link]", "type = 4"],
        &[],
        r#"bad.toml:2:8: link.type: found 4, expected one of "pcie", "sata", "ufs", "ddr", "shared-buffer", "onenand", … (7 in total)"#,
    ),
    (&["[link]", "lanes = 3"], &[], "bad.toml:2:1: link.lanes is 3, expected 1, 2, 4, 8, 12, 16 or 32"),
    (
        &["[link]", r#"max_payload = "200B""#],
        &[],
        r#"bad.toml:2:1: link.max_payload is "200B", expected a power of two"#,
    ),
    (
        &["[link]", r#"type = "sata""#, "lanes = 4"],
        &[],
        r#"bad.toml:3:1: link.lanes: set where link.type is "sata", expected only where it is "pcie" or "ufs""#,
    ),
    (
        &["[link]", r#"type = "sata""#, "generation = 4"],
        &[],
        r#"bad.toml:3:1: link.generation is 4, expected 1 to 3 where link.type is "sata""#,
    ),
    (
        &["[host]", r#"chipset = "hidden""#, "[link]", r#"type = "ddr""#],
        &[],
        r#"bad.toml:2:1: host.chipset is "hidden", expected "bridges" where link.type is "ddr": the port belongs to the North Bridge"#,
    ),
    (
        &["[link]", r#"type = "ddr""#, r#"timeout = "10ns""#],
        &[],
        "bad.toml:3:1: link.timeout is \"10ns\", expected at least the 5 clocks of link.cas_latency (12 ns)",
    ),
    (
        &["[link]", r#"type = "ddr""#, r#"fixed_latency = "1us""#],
        &[],
        r#"bad.toml:3:1: link.fixed_latency: set where link.strobe is "dqs", expected only where it is "fixed""#,
    ),
    (
        &["[link]", r#"type = "ddr""#, r#"rate = "2001GT/s""#],
        &[],
        r#"bad.toml:3:1: link.rate is "2001000MT/s", expected at most 2000GT/s"#,
    ),
    (
        &["[link]", r#"type = "ddr""#, r#"strobe = "fixed""#, r#"fixed_latency = "2ns""#],
        &[],
        "bad.toml:4:1: link.fixed_latency is \"2ns\", expected at least the 5 clocks of link.cas_latency (12 ns)",
    ),
    (&["[link]", r#"type = "ddr""#, "burst_length = 5"], &[], "bad.toml:3:1: link.burst_length is 5, expected 4 or 8"),
    (
        &["[link]", r#"type = "ddr""#, "generation = 2"],
        &[],
        r#"bad.toml:3:1: link.generation: set where link.type is "ddr", expected only where it is "pcie" or "sata""#,
    ),
    (
        &["[host.dmi]", r#"latency = "1us""#, "[link]", r#"type = "sata""#],
        &[],
        r#"bad.toml:2:1: host.dmi.latency: set where host.chipset is "hidden", expected only where it is "bridges""#,
    ),
    (
        &["[host.memory]", r#"refresh = "5us""#, "[link]", r#"type = "ddr""#],
        &[],
        r#"bad.toml:2:1: host.memory.refresh is "5us", expected at most half of host.memory.refresh_interval"#,
    ),
    (
        &[r#"extends = "onenand-xip""#, "[ftl]", r#"unit = "4KiB""#],
        &[],
        r#"bad.toml:3:1: ftl.unit: set where link.type is "onenand", expected only where it is "pcie", "sata", "ufs", "ddr" or "shared-buffer""#,
    ),
    (
        &[r#"extends = "onenand-xip""#, "[host]", "cores = 2"],
        &[],
        r#"bad.toml:3:1: host.cores: set where link.type is "onenand", expected only where it is "pcie", "sata", "ufs", "ddr" or "shared-buffer""#,
    ),
    (
        &["[link]", r#"type = "onenand""#],
        &[],
        r#"bad.toml:2:1: link.type is "onenand", and by default host.sram.size is "4KiB", expected a multiple of flash.page (16KiB)"#,
    ),
    (
        &[r#"extends = "onenand-xip""#, "[host.sram]", r#"size = "1536B""#],
        &[],
        r#"bad.toml:3:1: host.sram.size is "1536B", expected a multiple of flash.page (1KiB)"#,
    ),
    (
        &[r#"extends = "onenand-xip""#, "[host.paging]", r#"line = "24B""#],
        &[],
        r#"bad.toml:3:1: flash.page is "1KiB", expected a multiple of host.paging.line (24B)"#,
    ),
    (
        &[r#"extends = "onenand-xip""#, "[host.paging]", r#"policy = "lru""#, "window = 8"],
        &[],
        r#"bad.toml:4:1: host.paging.window: set where host.paging.policy is "lru", expected only where it is "pm-xip""#,
    ),
    (
        &["[host.sram]", r#"size = "8KiB""#],
        &[],
        r#"bad.toml:2:1: host.sram.size: set where link.type is "pcie", expected only where it is "onenand""#,
    ),
    (
        &["[link]", r#"bandwidth = "automatic""#],
        &[],
        r#"bad.toml:2:13: link.bandwidth: found "automatic", expected a bandwidth with its unit, such as "400MB/s", or "auto""#,
    ),
    (
        &["[link]", r#"type = "ufs""#, "lanes = 4"],
        &[],
        r#"bad.toml:3:1: link.lanes is 4, expected 1 or 2 where link.type is "ufs""#,
    ),
    (
        &["[link]", r#"type = "ufs""#, "generation = 3"],
        &[],
        r#"bad.toml:3:1: link.generation: set where link.type is "ufs", expected only where it is "pcie" or "sata""#,
    ),
    (&["[link]", r#"type = "ufs""#, "gear = 6"], &[], "bad.toml:3:8: link.gear: found 6, expected 1 to 5"),
    (
        &["[link]", r#"type = "ufs""#, r#"series = "c""#],
        &[],
        r#"bad.toml:3:10: link.series: found "c", expected "a" or "b"; the nearest is "a""#,
    ),
    (
        &["[device]", "utp.ready_to_transfers = 4"],
        &[],
        r#"bad.toml:2:5: device.utp.ready_to_transfers: set where link.type is "pcie", expected only where it is "ufs""#,
    ),
    (
        &["[host]", "queue_depth = 64", "[link]", r#"type = "ufs""#],
        &[],
        r#"bad.toml:2:1: host.queue_depth is 64, expected 1 to 32 where link.type is "ufs""#,
    ),
    (
        &["[host]", "queue_depth = 256", "ufshci = { queues = 8 }", "[link]", r#"type = "ufs""#],
        &[],
        r#"bad.toml:2:1: host.queue_depth is 256, expected 1 to 255 with host.ufshci.queues"#,
    ),
    (
        &["[link]", r#"type = "ufs""#, "[device]", "max_commands = 256", "[host]", "ufshci = { queues = 8 }"],
        &[],
        r#"bad.toml:4:1: device.max_commands is 256, expected 1 to 255 with host.ufshci.queues"#,
    ),
    (
        &["[link]", r#"type = "ufs""#, "[host]", "ufshci = { aggregation = 4, queues = 8 }"],
        &[],
        r#"bad.toml:4:12: host.ufshci.aggregation is 4, but host.ufshci.queues is 8: only the interrupts of a doorbell register are aggregated"#,
    ),
    (
        &["[host]", "ufshci = { queues = 8 }"],
        &[],
        r#"bad.toml:2:12: host.ufshci.queues: set where link.type is "pcie", expected only where it is "ufs""#,
    ),
    (
        &["[link]", r#"type = "ufs""#, "[host.ufshci]", r#"aggregation_time = "0us""#],
        &[],
        r#"bad.toml:4:1: host.ufshci.aggregation_time is "0s", expected more than 0s"#,
    ),
    (
        &["[link]", r#"type = "ufs""#, "[host]", "ufshci = { aggregation = 4 }", r#"completion = "polling""#],
        &[],
        r#"bad.toml:4:12: host.ufshci.aggregation is 4, but host.completion is "polling": there are no interrupts to aggregate"#,
    ),
    (
        &["[link]", r#"type = "ufs""#, "[device]", r#"utp.segment = "1000B""#],
        &[],
        r#"bad.toml:4:5: device.utp.segment is "1kB", expected a multiple of 512B"#,
    ),
    (
        &["[ftl]", r#"map_cache = { place = "host" }"#],
        &[],
        r#"bad.toml:2:23: ftl.map_cache.place: found "host", expected "sram" or "dram"; the nearest is "sram""#,
    ),
    (
        &["[link]", r#"type = "sata""#, "[device]", r#"hmb = { size = "64MiB" }"#],
        &[],
        r#"bad.toml:4:9: device.hmb.size: set where link.type is "sata", expected only where it is "pcie""#,
    ),
    (
        &["[device]", r#"hmb = { size = "1MB" }"#],
        &[],
        r#"bad.toml:2:9: device.hmb.size is "1MB", expected a multiple of 4KiB"#,
    ),
    (
        &["[device.hmb]", r#"size = "4MiB""#, r#"minimum = "8MiB""#],
        &[],
        r#"bad.toml:3:1: device.hmb.minimum is "8MiB", expected at most device.hmb.size (4MiB)"#,
    ),
    (
        &["[device.hmb]", r#"size = "64MiB""#, r#"use = ["map"]"#],
        &[],
        r#"bad.toml:3:1: device.hmb.use has "map", but ftl.map_cache.size is "all", expected less, because the entire map is already in the controller"#,
    ),
    (
        &[
            "[device.hmb]",
            r#"size = "64MiB""#,
            r#"use = ["map"]"#,
            "[ftl]",
            r#"map_cache = { size = "64KiB", grain = "entry" }"#,
        ],
        &[],
        r#"bad.toml:3:1: device.hmb.use has "map", but ftl.map_cache.grain is "entry", expected "page", because host memory holds pages of the map"#,
    ),
    (
        &["[ftl]", r#"map_cache = { size = "64KiB", place = "sram", updates = 4, grain = "entry" }"#],
        &[],
        r#"bad.toml:2:47: ftl.map_cache.updates is 4, but ftl.map_cache.grain is "entry": a changed entry waits in the cache itself"#,
    ),
    (
        &["[ftl]", r#"map_cache = { size = "64KiB", entry = "9B" }"#],
        &[],
        r#"bad.toml:2:31: ftl.map_cache.entry: set where ftl.map_cache.grain is "page", expected only where it is "entry""#,
    ),
    (
        &["[device.hmb]", r#"use = ["map", "write-cache"]"#],
        &[],
        r#"bad.toml:2:7: device.hmb.use: found "write-cache", expected one or more of "map", "read-cache" or "write-buffer"; the nearest is "read-cache""#,
    ),
    (
        &["[device.hmb]", r#"use = ["map", "map"]"#],
        &[],
        r#"bad.toml:2:1: device.hmb.use is ["map", "map"], expected each use once"#,
    ),
    (
        &["[device.hmb]", r#"unit = "12KiB""#],
        &[],
        r#"bad.toml:2:1: device.hmb.unit is "12KiB", expected ftl.unit (4KiB) times a power of two"#,
    ),
    (
        &["[device.hmb]", r#"eviction = "random""#],
        &[],
        r#"bad.toml:2:12: device.hmb.eviction: found "random", expected "lru", "fifo" or "clock"; the nearest is "fifo""#,
    ),
    (&["[device.hmb]", r#"check = "65B""#], &[], r#"bad.toml:2:9: device.hmb.check: found "65B", expected 0B to 64B"#),
    (
        &["[device]", r#"read_cache = { size = "1MiB" }"#, r#"hmb = { size = "64MiB", use = "read-cache" }"#],
        &[],
        r#"bad.toml:3:25: device.hmb.use is "read-cache", but device.cache_sharing is "shared", expected "separate""#,
    ),
    (
        &["[device]", "power_loss_protection = true", r#"hmb = { size = "64MiB", use = "write-buffer" }"#],
        &[],
        r#"bad.toml:3:25: device.hmb.use is "write-buffer", but device.power_loss_protection is true, expected false, because host memory is not protected"#,
    ),
    (
        &[
            "[device]",
            r#"hmb = { size = "8MiB", use = "write-buffer" }"#,
            r#"write_cache = { mode = "write-through" }"#,
        ],
        &[],
        r#"bad.toml:3:17: device.write_cache.mode is "write-through", expected "write-back" where device.hmb.use has "write-buffer""#,
    ),
    (
        &[
            "[device.hmb]",
            r#"size = "8MiB""#,
            r#"use = ["read-cache", "write-buffer"]"#,
            "read_cache = 0.7",
            "write_buffer = 0.4",
        ],
        &[],
        r#"bad.toml:4:1: device.hmb.read_cache is 0.7 and device.hmb.write_buffer is 0.4, expected at most 1 together"#,
    ),
    (
        &["[host]", r#"hmb = { contiguous = "5000B" }"#],
        &[],
        r#"bad.toml:2:9: host.hmb.contiguous is "5kB", expected a multiple of 4KiB"#,
    ),
    (
        &[],
        &[("device.hmb.sizes", "8MiB")],
        r#"--set device.hmb.sizes=8MiB: unknown key "device.hmb.sizes", the nearest is "device.hmb.size""#,
    ),
    (
        &["[link]", r#"type = "shared-buffer""#, r#"data_buffer = "5000B""#],
        &[],
        r#"bad.toml:3:1: link.data_buffer is "5kB", expected a multiple of 512B"#,
    ),
    (
        &["[link]", r#"type = "shared-buffer""#, r#"memory = "lpddr3""#],
        &[],
        r#"bad.toml:3:10: link.memory: found "lpddr3", expected "lpddr3-1200", "lpddr3-1600", "lpddr4x-4266" or "lpddr5-6400"; the nearest is "lpddr3-1200""#,
    ),
    (
        &["[link]", r#"type = "shared-buffer""#, "lanes = 2"],
        &[],
        r#"bad.toml:3:1: link.lanes: set where link.type is "shared-buffer", expected only where it is "pcie" or "ufs""#,
    ),
    (
        &["[link]", r#"type = "shared-buffer""#, r#"interleave = "64B""#],
        &[],
        r#"bad.toml:3:1: link.interleave is "64B", expected at least 512B, a sector, of which the data buffer is made"#,
    ),
    (
        &["[host]", "queue_depth = 24", "[link]", r#"type = "shared-buffer""#],
        &[],
        r#"bad.toml:2:1: host.queue_depth is 24, expected a power of two up to 32768 where link.type is "shared-buffer""#,
    ),
    (
        &["[link]", r#"type = "shared-buffer""#, "[host.mover]", r#"transfer = "copy""#, r#"piece = "64KiB""#],
        &[],
        r#"bad.toml:5:1: host.mover.piece: set where host.mover.transfer is "copy", expected only where it is "dma""#,
    ),
    (
        &["[link]", r#"type = "shared-buffer""#, "[host.mover]", "extents = 7"],
        &[],
        "bad.toml:4:11: host.mover.extents: found 7, expected 1 to 6",
    ),
    (
        &["[device]", r#"emulated.clock = "266""#, "[link]", r#"type = "shared-buffer""#],
        &[],
        r#"bad.toml:2:18: device.emulated.clock: found "266" without a unit, expected a frequency such as "266MHz""#,
    ),
    (
        &["[link]", r#"type = "shared-buffer""#, "[device]", "emulated.banks = 6"],
        &[],
        "bad.toml:4:10: device.emulated.banks is 6, expected a power of two",
    ),
    (
        &["[link]", r#"type = "shared-buffer""#, "[host.mover]", r#"traffic = "5GB/s""#],
        &[],
        r#"bad.toml:4:1: host.mover.traffic is "5GB/s", expected less than the 4.8GB/s that lpddr3-1200 carries"#,
    ),
    (
        &["[flash]", "ecc.decoders = 2"],
        &[],
        r#"bad.toml:2:5: flash.ecc.decoders: set where link.type is "pcie", expected only where it is "shared-buffer""#,
    ),
    (
        &["[link]", r#"type = "sata""#, "[device]", "max_commands = 16"],
        &[],
        r#"bad.toml:4:1: host.queue_depth is 32, expected at most device.max_commands (16) where link.type is "sata""#,
    ),
    (
        &["[host]", "queue_depth = 64", "[link]", r#"type = "sata""#],
        &[],
        r#"bad.toml:2:1: host.queue_depth is 64, expected 1 to 32 where link.type is "sata""#,
    ),
    (
        &["[host]", r#"poll = "1us""#],
        &[],
        r#"bad.toml:2:1: host.poll: set where host.completion is "interrupt", expected only where it is "polling""#,
    ),
    (
        &["[host]", r#"queue_priority = ["high", "med"]"#, "[device]", r#"arbitration = "weighted-round-robin""#],
        &[],
        r#"bad.toml:2:18: host.queue_priority: found "med", expected one or more of "urgent", "high", "medium" or "low"; the nearest is "medium""#,
    ),
    (
        &["[device]", "coalescing = { threshold = 8 }"],
        &[],
        r#"bad.toml:2:16: device.coalescing.threshold is 8 and device.coalescing.time is "0s", expected a time too"#,
    ),
    (
        &["[device]", r#"coalescing = { threshold = 8, time = "50us" }"#],
        &[],
        r#"bad.toml:2:31: device.coalescing.time is "50us", expected a multiple of 100us"#,
    ),
    (
        &["[host]", r#"completion = "polling""#, "[device]", r#"coalescing = { threshold = 8, time = "100us" }"#],
        &[],
        r#"bad.toml:4:16: device.coalescing.threshold is 8, but host.completion is "polling": there are no interrupts to coalesce"#,
    ),
    (
        &["[device]", "write_cache = { high = 0.5, low = 0.75 }"],
        &[],
        "bad.toml:2:29: device.write_cache.low is 0.75, expected at most device.write_cache.high (0.5)",
    ),
    (
        &["[device]", r#"read_ahead = { size = "128KiB" }"#],
        &[],
        r#"bad.toml:2:16: device.read_ahead.size is "128KiB", expected at least 256KiB, two pages (flash.page) for each stream, or 0B"#,
    ),
    (
        &["[device]", r#"read_ahead = { size = "2GiB" }"#],
        &[],
        r#"bad.toml:2:16: device.dram is "1GiB", but 3022.9MiB are to be in it (ftl.map_cache.size 958.9MiB, device.write_cache.size 16MiB, device.read_ahead.size 2GiB), expected as much DRAM or another place"#,
    ),
    (
        &["[device]", "read_ahead = { after = 1 }"],
        &[],
        "bad.toml:2:24: device.read_ahead.after: found 1, expected 2 to 64",
    ),
    (
        &["[device]", r#"write_cache = { size = "64KiB" }"#],
        &[],
        r#"bad.toml:2:17: device.write_cache.size is "64KiB", expected at least host.max_transfer (512KiB), or 0B"#,
    ),
    (
        &["[device]", r#"dram = "0B""#],
        &[],
        r#"bad.toml:2:1: device.dram is "0B", but 974.9MiB are to be in it (ftl.map_cache.size 958.9MiB, device.write_cache.size 16MiB), expected as much DRAM or another place"#,
    ),
    (
        &[r#"ftl.slc_cache.size = "8MiB""#, r#"flash.cell = "tlc""#],
        &[("flash.pages", "2")],
        "--set flash.pages=2: flash.pages is 2, expected at least 3 with ftl.slc_cache.size, because a block in SLC mode has 1/3 of its pages",
    ),
    (
        &[r#"ftl.slc_cache.batch = "9MB""#],
        &[("ftl.slc_cache.fold", "0")],
        r#"--set ftl.slc_cache.fold=0: ftl.slc_cache.batch is "9MB", expected 0B where ftl.slc_cache.fold is 0, since folding waits for a pause then"#,
    ),
    (
        &["[ftl]", r#"stripe = "CWDX""#],
        &[],
        r#"bad.toml:2:10: ftl.stripe: found "CWDX", expected one of "CWDP", "CWPD", "CDWP", "CDPW", "CPWD", "CPDW", … (24 in total); the nearest is "CWDP""#,
    ),
    (&["[ftl]", r#"unit = "3KiB""#], &[], r#"bad.toml:2:1: ftl.unit is "3KiB", expected a power of two"#),
    (
        &["[ftl]", r#"capacity = "900GB""#, "over_provisioning = 0.07"],
        &[],
        "bad.toml:3:1: ftl.capacity and ftl.over_provisioning are both given, expected one of them",
    ),
    (
        &["[ftl]", r#"over_provisioning = "auto""#],
        &[],
        r#"bad.toml:2:1: ftl.capacity and ftl.over_provisioning are both "auto", expected one of them"#,
    ),
    (
        &["[ftl]", r#"capacity = "2TiB""#],
        &[],
        r#"bad.toml:2:1: ftl.capacity is "2TiB", expected less than the 1026GiB of flash"#,
    ),
    (
        &["[ftl]", r#"capacity = "900000000001B""#],
        &[],
        r#"bad.toml:2:1: ftl.capacity is "900000000001B", expected a multiple of ftl.unit (4KiB)"#,
    ),
    (
        &["[ftl]", "over_provisioning = 0.001"],
        &[],
        "bad.toml:2:1: ftl.over_provisioning is 0.001, which needs 918 good blocks per plane (912 of data, 4 of ftl.gc.start, 2 being written), expected at most 912",
    ),
    (
        &["[ftl.gc]", "start = 900"],
        &[],
        "bad.toml:2:1: ftl.over_provisioning is 0.07, which needs 1755 good blocks per plane (853 of data, 900 of ftl.gc.start, 2 being written), expected at most 912",
    ),
    (
        &["[ftl.gc]", "choices = 4"],
        &[],
        r#"bad.toml:2:1: ftl.gc.choices: set where ftl.gc.policy is "greedy", expected only where it is "d-choices""#,
    ),
    (&["[flash]", "chips = 200", "dies = 64"], &[], "bad.toml:2:1: flash: 102400 dies, expected at most 65535"),
    (
        &["[flash]", r#"cell = "slc""#, "[ftl]", r#"slc_cache = { size = "1GB" }"#],
        &[],
        r#"bad.toml:4:15: ftl.slc_cache.size is "1GB", but flash.cell is "slc": all of it is SLC"#,
    ),
    (
        &["[flash]", r#"ecc = { codeword = "5KiB" }"#],
        &[],
        r#"bad.toml:2:9: flash.page is "16KiB", expected a multiple of flash.ecc.codeword (5KiB)"#,
    ),
    (
        &["[basis]", r#""flash.rea" = { given = "x" }"#],
        &[],
        r#"bad.toml:2:1: basis: unknown key "flash.rea", the nearest is "flash.read""#,
    ),
    (
        &["[basis]", r#"flash.read = { given = "x" }"#],
        &[],
        r#"bad.toml:2:1: basis of flash: found a table of tables, expected the key in quotes: "flash.read""#,
    ),
    (
        &["[basis]", r#""flash.read" = "x""#],
        &[],
        r#"bad.toml:2:1: basis of flash.read: found "x", expected { given = "source" }, { assumed = "reason" } or { calibrated = "claim" }"#,
    ),
    (
        &["[basis]", r#""flash.read" = { givn = "x" }"#],
        &[],
        r#"bad.toml:2:1: basis of flash.read: found "givn", expected { given = "source" }, { assumed = "reason" } or { calibrated = "claim" }; the nearest is "given""#,
    ),
    (
        &["[basis]", r#""flash.read" = { given = "" }"#],
        &[],
        r#"bad.toml:2:1: basis of flash.read: found "", expected the source in quotes"#,
    ),
    (
        &["[basis]", r#""flash.read" = { given = "x", assumed = "y" }"#],
        &[],
        r#"bad.toml:2:1: basis of flash.read: found 2 entries, expected { given = "source" }, { assumed = "reason" } or { calibrated = "claim" }"#,
    ),
    (&["basis = 8"], &[], "bad.toml:1:1: basis: found 8, expected a table"),
    (
        &[r#"extends = "nvme-clinet-tlc""#],
        &[],
        r#"bad.toml:1:1: extends: "nvme-clinet-tlc" is neither a file nor a preset, the nearest preset is "nvme-client-tlc""#,
    ),
    (
        &[r#"extends = "nowhere.toml""#],
        &[],
        "bad.toml:1:1: extends: nowhere.toml cannot be read: the file does not exist",
    ),
    (&["extends = 8"], &[], "bad.toml:1:1: extends: found 8, expected the name of a preset or of a file"),
    (&["[flash]", "channels = 8", "channels = 9"], &[], "bad.toml:3:1: not TOML: duplicate key"),
    (&["[flash"], &[], "bad.toml:1:7: not TOML: unclosed table, expected `]`"),
    (
        &["[flash]", r#"read = "7\n5us""#],
        &[],
        r#"bad.toml:2:8: flash.read: found the unit "5us" in "7\n5us", expected one of ps, ns, us, ms, s, min, h, d"#,
    ),
    (
        &["[ftl]", r#"unit = "512B""#, "[flash]", r#"page = "64KiB""#],
        &[],
        r#"bad.toml:2:1: ftl.unit is "512B", so that 128 units make a page, expected at most 64"#,
    ),
    (
        &["[flash]", "planes = 16", r#"page = "32KiB""#, "[ftl]", "parity = { stripe = 3 }"],
        &[],
        r#"bad.toml:3:1: ftl.unit is "4KiB", so that 128 units make a program of a stripe (ftl.parity.stripe), expected at most 64"#,
    ),
    (
        &["[ftl]", r#"unit = "64KiB""#, "[flash]", r#"page = "48KiB""#],
        &[],
        r#"bad.toml:2:1: ftl.unit is "64KiB", expected a multiple of flash.page (48KiB)"#,
    ),
    (
        &["[ftl]", r#"unit = "64KiB""#, "[flash]", "pages = 1153", "planes = 2"],
        &[],
        "bad.toml:4:1: flash.pages is 1153, expected a multiple of 2, the pages of each plane that a ftl.unit spans",
    ),
    (
        &["[link]", r#"type = "shared-buffer""#, "[ftl]", r#"unit = "64KiB""#],
        &[],
        r#"bad.toml:4:1: ftl.unit is "64KiB", expected at most 32KiB where link.type is "shared-buffer": its commands are cut to single sectors"#,
    ),
    (&["[ftl]", r#"unit = "128KiB""#], &[], r#"bad.toml:2:8: ftl.unit: found "128KiB", expected 512B to 64KiB"#),
    (
        &["[flash]", "pass_distance = 8"],
        &[],
        r#"bad.toml:2:1: flash.pass_distance: set where flash.programming is "one-pass", expected only where it is "two-pass""#,
    ),
    (
        &["[flash]", r#"programming = "two-pass""#, "pass_distance = 4096"],
        &[],
        "bad.toml:2:1: device.dram is \"1GiB\", but 9166.9MiB are to be in it (ftl.map_cache.size 958.9MiB, device.write_cache.size 16MiB, flash.pass_distance 8GiB), expected as much DRAM or another place",
    ),
    (
        &["[flash]", r#"programming = "three-pass""#],
        &[],
        r#"bad.toml:2:15: flash.programming: found "three-pass", expected "one-pass" or "two-pass"; the nearest is "one-pass""#,
    ),
    (
        &["[flash]", "errors = { base = 0.1 }"],
        &[],
        r#"bad.toml:2:12: flash.errors.base: set where flash.errors.model is "none", expected only where it is "power-law""#,
    ),
    (
        &["[flash]", r#"errors = { model = "power-law", base = -0.1 }"#],
        &[],
        "bad.toml:2:40: flash.errors.base: found -0.1, expected 0 to 0.5",
    ),
    (
        &["[flash]", r#"errors = { model = "power-law", base = "1e-5" }"#],
        &[],
        r#"bad.toml:2:40: flash.errors.base: found "1e-5", expected a number from 0 to 0.5"#,
    ),
    (
        &["[flash]", r#"power = { transfer_energy = "1J/B" }"#],
        &[],
        r#"bad.toml:2:29: flash.power.transfer_energy: found the unit "J/B" in "1J/B", expected one of pJ, nJ, uJ, mJ, J"#,
    ),
    (
        &["[basis]", r#"flash.ecc.codeword = { given = "x" }"#],
        &[],
        r#"bad.toml:2:1: basis of flash: found a table of tables, expected the key in quotes: "flash.ecc.codeword""#,
    ),
    (
        &["[ftl]", "over_provisioning = 0.07", r#"map_cache = { size = "2MB" }"#],
        &[],
        r#"bad.toml:3:15: ftl.map_cache.size is "2MB", expected a multiple of ftl.unit (4KiB)"#,
    ),
    (
        &[],
        &[("flash.chanels", "8")],
        r#"--set flash.chanels=8: unknown key "flash.chanels", the nearest is "flash.channels""#,
    ),
    (
        &[],
        &[("flash.channels", "eight")],
        r#"--set flash.channels=eight: flash.channels: found "eight", expected a whole number from 1 to 256"#,
    ),
    (
        &[],
        &[("flash.read", "75")],
        r#"--set flash.read=75: flash.read: found 75 without a unit, expected a time such as "25us", or a list with one per page type"#,
    ),
    (&[], &[("flash", "8")], "--set flash=8: flash: found 8, expected a table"),
    (&[], &[("extends", "sata-mlc")], "--set extends=sata-mlc: extends: only allowed in a file, not in a --set"),
    (&[], &[("basis.flash", "x")], "--set basis.flash=x: basis: only allowed in a file, not in a --set"),
    (
        &[],
        &[("link.type", "sata"), ("link.lanes", "2")],
        r#"--set link.lanes=2: link.lanes: set where link.type is "sata", expected only where it is "pcie" or "ufs""#,
    ),
    (
        &["[ftl]", "over_provisioning = 0.1"],
        &[("flash.blocks", "20")],
        "--set flash.blocks=20: ftl.over_provisioning is 0.1, which needs 25 good blocks per plane (19 of data, 4 of ftl.gc.start, 2 being written), expected at most 20",
    ),
    (
        &[],
        &[("device.coalescing", "{ threshold = 300 }")],
        "--set device.coalescing={ threshold = 300 }: device.coalescing.threshold: found 300, expected 1 to 256",
    ),
    (
        &[],
        &[("flash.channels", "1\nx = 2")],
        r#"--set flash.channels=1\nx = 2: flash.channels: found "1\nx = 2", expected a whole number from 1 to 256"#,
    ),
];

#[test]
fn every_error_has_its_message() {
    for (lines, sets, expected) in CASES {
        let text = lines.join("\n");
        let message = match System::from_toml("bad.toml", &text, sets) {
            Ok(_) => panic!("no error in {text:?} with {sets:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(message, *expected, "for {text:?} with {sets:?}");
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn names_that_are_neither_file_nor_preset_are_reported() {
    let message = |name: &str| System::load(name, &[]).unwrap_err().to_string();
    assert_eq!(
        message("nvme-clint-tlc"),
        "no system \"nvme-clint-tlc\": neither a file nor a preset, the nearest preset is \"nvme-client-tlc\""
    );
    assert_eq!(message("nowhere/drive.toml"), "nowhere/drive.toml: cannot be read: the file does not exist");
    assert_eq!(
        System::split_set("flash.channels").unwrap_err().to_string(),
        "--set flash.channels: found no \"=\", expected key=value such as flash.channels=8"
    );
}

/// A temporary folder for one test.
struct Folder(std::path::PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("nandram-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("the temporary folder can be written");
        Folder(folder)
    }

    fn write(&self, name: &str, text: &[u8]) -> String {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("a parent folder")).expect("the temporary folder can be written");
        fs::write(&path, text).expect("the temporary folder can be written");
        path.display().to_string()
    }

    /// Returns the error message without the path of this folder.
    fn message(&self, path: &str) -> String {
        let message = System::load(path, &[]).unwrap_err().to_string();
        message.replace(&format!("{}/", self.0.display()), "")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn cycles_of_extended_files_are_named() {
    let folder = Folder::new("circle");
    let a = folder.write("a.toml", b"extends = \"b.toml\"\n");
    folder.write("b.toml", b"title = \"b\"\nextends = \"sub/c.toml\"\n");
    folder.write("sub/c.toml", b"extends = \"../a.toml\"\n");
    assert_eq!(
        folder.message(&a),
        "sub/c.toml:1:1: extends: the files extend each other in a cycle: \
         a.toml -> b.toml -> sub/c.toml -> sub/../a.toml"
    );
    let own = folder.write("own.toml", b"extends = \"own.toml\"\n");
    assert_eq!(
        folder.message(&own),
        "own.toml:1:1: extends: the files extend each other in a cycle: own.toml -> own.toml"
    );
}

#[test]
fn errors_in_extended_files_name_that_file() {
    let folder = Folder::new("further-down");
    folder.write("base.toml", b"[flash]\nchannels = 8\npages = 0\n");
    let top = folder.write("top.toml", b"extends = \"base.toml\"\n");
    assert_eq!(folder.message(&top), "base.toml:3:9: flash.pages: found 0, expected 1 to 65536");
}

#[test]
fn files_that_are_not_text_are_reported() {
    let folder = Folder::new("no-text");
    let path = folder.write("drive.toml", b"title = \"\xff\"\n");
    assert_eq!(folder.message(&path), "drive.toml: cannot be read: the text is not UTF-8");
}

/// A conflict is an error at the last value set by a file that knew both; values that a later file makes meaningless
/// are dropped.
#[test]
fn conflicts_are_reported_at_the_value_set_last() {
    let folder = Folder::new("last");
    folder.write("base.toml", b"[device]\nwrite_cache = { low = 0.5, high = 0.75 }\n");
    let top = folder.write("top.toml", b"extends = \"base.toml\"\n[device]\nwrite_cache = { high = 0.25 }\n");
    assert_eq!(
        folder.message(&top),
        "top.toml:3:17: device.write_cache.low is 0.5, expected at most device.write_cache.high (0.25)"
    );
}

#[test]
fn devices_folders_and_large_files_are_rejected_at_once() {
    let folder = Folder::new("no-file");
    let refused = |path: &std::path::Path| {
        let path = path.to_str().expect("a path");
        let error = System::load(path, &[]).expect_err("an error").to_string();
        error.strip_prefix(path).unwrap_or_else(|| panic!("{error}")).to_owned()
    };
    let file = |name: &str, text: &str| std::path::PathBuf::from(folder.write(name, text.as_bytes()));
    let empty = ": found no key, expected at least one, such as extends = \"nvme-client-tlc\"";
    assert_eq!(refused(&file("empty.toml", "")), empty);
    assert_eq!(refused(&file("comment.toml", "# nothing\n[flash]\n")), empty);
    let device = std::path::Path::new("/dev/zero");
    assert_eq!(refused(device), ": cannot be read: found a pipe or a device, expected a file");
    let no_file = std::path::Path::new("/tmp/");
    assert_eq!(refused(no_file), ": cannot be read: found a folder, expected a file");
    let large = refused(&file("large.toml", &"#\n".repeat(1 << 20)));
    assert_eq!(large, ": cannot be read: found 2097152 bytes, expected at most 1048576");
    let long = refused(&file("long.toml", &format!("{} = 1\n", "k".repeat(1_000_000))));
    assert!(long.len() < 1000 && long.contains("unknown key \"kkk"), "{long}");
}
