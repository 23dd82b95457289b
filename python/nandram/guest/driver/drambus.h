/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/*
 * A block device behind a shared buffer on the memory bus, as nandram serves it: registers in BAR 0, the buffer in BAR 2.
 *
 * The protocol is that of Seo et al., "Design and Implementation of A Mobile Storage Leveraging the DRAM Interface",
 * section 5. crates/doors/guest/src/bus/registers.rs describes the registers, crates/parts/shared_buffer the buffer.
 */
#ifndef DRAMBUS_H
#define DRAMBUS_H

#include <linux/blk-mq.h>
#include <linux/genalloc.h>
#include <linux/pci.h>
#include <linux/types.h>

#define DRAMBUS_VENDOR 0x1234
#define DRAMBUS_DEVICE 0x6e62

/* Registers. */
#define DRAMBUS_SIGNATURE 0x00
#define DRAMBUS_VERSION 0x04
#define DRAMBUS_CONTROL 0x08
#define DRAMBUS_STATUS 0x0c
#define DRAMBUS_PAIRS 0x10
#define DRAMBUS_REGION_BYTES 0x18
#define DRAMBUS_INTERRUPT_ENABLE 0x28
#define DRAMBUS_DOORBELL(pair) (0x1000 + 4 * (pair))
#define DRAMBUS_REGISTERS_END 0x2000
#define DRAMBUS_RESET 1
#define DRAMBUS_READY 1
#define DRAMBUS_SIGNATURE_VALUE 0x4253444e /* "NDSB" */
#define DRAMBUS_VERSION_VALUE 1

/* The region's header: "NANDRAM" and the version. */
#define DRAMBUS_MAGIC 0x014d4152444e414eULL
#define DRAMBUS_LINE 64
#define DRAMBUS_PAIRS_MAX 64

/* The first word of an entry: id, opcode, extents, force unit access, phase, sectors. */
#define DRAMBUS_OPCODE(opcode) ((u64)(opcode) << 16)
#define DRAMBUS_EXTENTS(count) ((u64)(count) << 24)
#define DRAMBUS_FUA BIT_ULL(28)
#define DRAMBUS_PHASE BIT_ULL(31)
#define DRAMBUS_SECTORS(sectors) ((u64)(sectors) << 32)

enum drambus_opcode { DRAMBUS_READ = 1, DRAMBUS_WRITE, DRAMBUS_TRIM, DRAMBUS_FLUSH, DRAMBUS_IDENTIFY };

enum drambus_status {
	DRAMBUS_SUCCESS,
	DRAMBUS_INVALID_OPCODE,
	DRAMBUS_INVALID_FIELD,
	DRAMBUS_OUT_OF_RANGE,
	DRAMBUS_READ_ERROR,
	DRAMBUS_WRITE_ERROR,
	DRAMBUS_NO_SPACE,
};

/* Sectors of a trim at most. */
#define DRAMBUS_TRIM_SECTORS (1u << 21)

/* A command, except for its id. */
struct drambus_command {
	enum drambus_opcode opcode;
	bool fua;
	u64 start;
	u32 sectors;
	/* Its place in the data buffer, in sectors; none if it has no data. */
	bool has_place;
	u32 place;
};

/* The host's side of a queue pair. */
struct drambus_queue {
	struct drambus_dev *dev;
	u16 pair;
	/* No completion can be taken any more: an invalid one was found, or the disk is gone. */
	bool is_broken;
	spinlock_t submit_lock;
	u32 tail;
	/* The value of the doorbell. */
	u32 announced;
	spinlock_t take_lock;
	u32 head;
};

/* The answer to Identify. */
struct drambus_identity {
	u64 capacity;
	u32 opcodes;
	u32 command_sectors;
	bool cached_writes;
};

struct drambus_dev {
	struct pci_dev *pdev;
	void __iomem *registers;
	/* Header, registers and queues: uncached. */
	void __iomem *control;
	/* The data buffer: cached. */
	void *data;
	struct gen_pool *pool;
	u32 pairs;
	u32 sq_entries;
	u32 cq_entries;
	u32 entry_words;
	u32 db_sectors;
	/* Offsets in the region. */
	u32 sq;
	u32 cq;
	u32 db;
	struct drambus_queue queues[DRAMBUS_PAIRS_MAX];
	struct drambus_identity identity;
	u32 poll_pairs;
	struct blk_mq_tag_set tags;
	struct gendisk *disk;
	int index;
	/* A request waits for space in the data buffer. */
	atomic_t is_starved;
	atomic64_t flushed_lines;
	atomic64_t invalidated_lines;
};

/* queue.c */
int drambus_read_layout(struct drambus_dev *dev, u64 bytes);
void drambus_init_queues(struct drambus_dev *dev);
void drambus_stop(struct drambus_dev *dev);
void drambus_submit(struct drambus_queue *queue, const struct drambus_command *command, u16 id, bool ring);
void drambus_ring(struct drambus_queue *queue);
bool drambus_take(struct drambus_queue *queue, u16 *id, u8 *status);
int drambus_identify(struct drambus_dev *dev);
void drambus_flush(struct drambus_dev *dev, u32 place, u32 sectors);
void drambus_invalidate(struct drambus_dev *dev, u32 place, u32 sectors);

/* block.c */
unsigned int drambus_poll_pairs(unsigned int pairs);
int drambus_add_disk(struct drambus_dev *dev);
void drambus_remove_disk(struct drambus_dev *dev);
int drambus_reap(struct drambus_queue *queue);

static inline void *drambus_place(struct drambus_dev *dev, u32 place)
{
	return dev->data + ((size_t)place << SECTOR_SHIFT);
}

#endif
