// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Queue pairs: entries, doorbells and completions; and the coherence of the data buffer. */
#include <linux/delay.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>
#include <asm/cacheflush.h>

#include "drambus.h"

#ifndef CONFIG_X86_64
#error "flushing lines of the data buffer is implemented for x86-64"
#endif

static bool coherence = true;
module_param(coherence, bool, 0444);
MODULE_PARM_DESC(coherence, "flush and invalidate the cache lines of the data buffer around transfers (default: yes)");

/* Number of looks at the answer to Identify, 100 us apart. */
#define IDENTIFY_LOOKS 50000

static u64 word(struct drambus_dev *dev, u32 offset)
{
	return readq(dev->control + offset);
}

/* Computes the layout of a region of `bytes` bytes from its header. */
int drambus_read_layout(struct drambus_dev *dev, u64 bytes)
{
	u64 pairs, queues, end;
	u32 extents;

	if (bytes < DRAMBUS_LINE || word(dev, 0) != DRAMBUS_MAGIC)
		return -ENODEV;
	pairs = word(dev, 8);
	queues = word(dev, 16);
	extents = pairs >> 32;
	dev->pairs = (u32)pairs;
	dev->sq_entries = (u32)queues;
	dev->cq_entries = queues >> 32;
	dev->db_sectors = (u32)word(dev, 24);
	if (!dev->pairs || dev->pairs > DRAMBUS_PAIRS_MAX || !extents || extents > 6 || !dev->db_sectors ||
	    !is_power_of_2(dev->sq_entries) || !is_power_of_2(dev->cq_entries) || dev->sq_entries > 1 << 15 ||
	    dev->cq_entries > 1 << 15)
		return -EINVAL;
	dev->entry_words = roundup_pow_of_two(2 + extents);
	dev->sq = DRAMBUS_LINE + dev->pairs * 2 * DRAMBUS_LINE;
	dev->cq = dev->sq + dev->pairs * round_up(dev->sq_entries * dev->entry_words * 8, DRAMBUS_LINE);
	end = dev->cq + (u64)dev->pairs * round_up(dev->cq_entries * 8, DRAMBUS_LINE);
	dev->db = round_up(end, 4096);
	if (dev->db + ((u64)dev->db_sectors << SECTOR_SHIFT) > bytes)
		return -EINVAL;
	return 0;
}

/* Starts all pairs of a newly formatted region. */
void drambus_init_queues(struct drambus_dev *dev)
{
	u32 pair;

	for (pair = 0; pair < dev->pairs; pair++) {
		struct drambus_queue *queue = &dev->queues[pair];

		queue->dev = dev;
		queue->pair = pair;
		spin_lock_init(&queue->submit_lock);
		spin_lock_init(&queue->take_lock);
	}
}

/* Lets no pair take completions any more. */
void drambus_stop(struct drambus_dev *dev)
{
	u32 pair;

	writeq(0, dev->registers + DRAMBUS_INTERRUPT_ENABLE);
	for (pair = 0; pair < dev->pairs; pair++) {
		spin_lock_irq(&dev->queues[pair].take_lock);
		dev->queues[pair].is_broken = true;
		spin_unlock_irq(&dev->queues[pair].take_lock);
	}
}

/* The phase of the entry with this index: set in the first pass through the ring, clear in the second, and so on. */
static u64 phase(u32 index, u32 entries)
{
	return index & entries ? 0 : DRAMBUS_PHASE;
}

void drambus_ring(struct drambus_queue *queue)
{
	unsigned long flags;

	spin_lock_irqsave(&queue->submit_lock, flags);
	if (queue->announced != queue->tail) {
		queue->announced = queue->tail;
		writel(queue->tail, queue->dev->registers + DRAMBUS_DOORBELL(queue->pair));
	}
	spin_unlock_irqrestore(&queue->submit_lock, flags);
}

/*
 * Writes a command's entry. There is always a slot: ids are less than the number of entries, and the device fetched a
 * slot's last command before it completed.
 */
void drambus_submit(struct drambus_queue *queue, const struct drambus_command *command, u16 id, bool ring)
{
	struct drambus_dev *dev = queue->dev;
	u64 head = id | DRAMBUS_OPCODE(command->opcode) | DRAMBUS_SECTORS(command->sectors);
	void __iomem *entry;
	unsigned long flags;
	u32 slot;

	if (command->fua)
		head |= DRAMBUS_FUA;
	spin_lock_irqsave(&queue->submit_lock, flags);
	slot = queue->tail & (dev->sq_entries - 1);
	entry = dev->control + dev->sq + (queue->pair * dev->sq_entries + slot) * dev->entry_words * 8;
	writeq(command->start, entry + 8);
	if (command->has_place) {
		head |= DRAMBUS_EXTENTS(1);
		writeq(command->place | DRAMBUS_SECTORS(command->sectors), entry + 16);
	}
	/* The first word makes the entry valid. */
	wmb();
	writeq(head | phase(queue->tail, dev->sq_entries), entry);
	queue->tail++;
	spin_unlock_irqrestore(&queue->submit_lock, flags);
	if (ring)
		drambus_ring(queue);
}

/*
 * Takes the completion at the head of the queue, if there is one, and returns its entry to the device: before the
 * command's id can be used again, so that the device always has room. The caller holds `take_lock`.
 */
bool drambus_take(struct drambus_queue *queue, u16 *id, u8 *status)
{
	struct drambus_dev *dev = queue->dev;
	u32 stride = round_up(dev->cq_entries * 8, DRAMBUS_LINE);
	u32 at = dev->cq + queue->pair * stride + (queue->head & (dev->cq_entries - 1)) * 8;
	u64 entry = word(dev, at);

	if ((entry & DRAMBUS_PHASE) != phase(queue->head, dev->cq_entries))
		return false;
	/* A read's data come after the entry. */
	rmb();
	*id = (u16)entry;
	*status = (u8)(entry >> 16);
	queue->head++;
	writeq(queue->head, dev->control + DRAMBUS_LINE + queue->pair * 2 * DRAMBUS_LINE + 8);
	return true;
}

/* Asks for the device's identity, before there are interrupts. */
int drambus_identify(struct drambus_dev *dev)
{
	struct drambus_command command = { .opcode = DRAMBUS_IDENTIFY, .sectors = 1, .has_place = true };
	struct drambus_queue *queue = &dev->queues[0];
	const u8 *sector = drambus_place(dev, 0);
	unsigned int look;
	u8 status = 0;
	u16 id;

	drambus_submit(queue, &command, 0, true);
	for (look = 0; look < IDENTIFY_LOOKS; look++) {
		bool taken;

		spin_lock_irq(&queue->take_lock);
		taken = drambus_take(queue, &id, &status);
		spin_unlock_irq(&queue->take_lock);
		if (taken)
			break;
		usleep_range(100, 200);
	}
	if (look == IDENTIFY_LOOKS)
		return -ETIMEDOUT;
	if (id != 0 || status != DRAMBUS_SUCCESS)
		return -EIO;
	drambus_invalidate(dev, 0, 1);
	dev->identity.capacity = le64_to_cpup((const __le64 *)sector);
	dev->identity.opcodes = le32_to_cpup((const __le32 *)(sector + 8));
	dev->identity.command_sectors = le32_to_cpup((const __le32 *)(sector + 12));
	dev->identity.cached_writes = sector[16];
	return dev->identity.capacity && dev->identity.command_sectors ? 0 : -EIO;
}

static u64 lines(u32 sectors)
{
	return ((u64)sectors << SECTOR_SHIFT) / DRAMBUS_LINE;
}

/* Writes a write's data back from the caches, so that the device finds them. */
void drambus_flush(struct drambus_dev *dev, u32 place, u32 sectors)
{
	if (!coherence)
		return;
	clflush_cache_range(drambus_place(dev, place), sectors << SECTOR_SHIFT);
	atomic64_add(lines(sectors), &dev->flushed_lines);
}

/* Drops lines that the caches may have of what the device has overwritten since. */
void drambus_invalidate(struct drambus_dev *dev, u32 place, u32 sectors)
{
	if (!coherence)
		return;
	/* On x86 a line is invalidated by flushing it; it is clean, because only the device has written it. */
	clflush_cache_range(drambus_place(dev, place), sectors << SECTOR_SHIFT);
	atomic64_add(lines(sectors), &dev->invalidated_lines);
}
