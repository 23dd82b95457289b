// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The block device: requests, their places in the data buffer, and their ends. */
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/version.h>

#include "drambus.h"

static unsigned int split_kb = 128;
module_param(split_kb, uint, 0444);
MODULE_PARM_DESC(split_kb, "maximum size of a command's data in KiB, to which the block layer splits (default: 128)");

static unsigned int poll_queues;
module_param(poll_queues, uint, 0444);
MODULE_PARM_DESC(poll_queues, "number of queue pairs for polled requests, without interrupts (default: 0)");

/* What the driver keeps with a request. */
struct drambus_pdu {
	/* Its place in the data buffer, or 0. */
	unsigned long place;
	blk_status_t status;
};

static DEFINE_IDA(indices);

/* Returns the place of a request's data. Addresses in the pool begin at one sector, because 0 means none. */
static u32 place_of(const struct drambus_pdu *pdu)
{
	return (pdu->place >> SECTOR_SHIFT) - 1;
}

static blk_status_t allocate(struct drambus_dev *dev, struct drambus_pdu *pdu, size_t bytes)
{
	pdu->place = gen_pool_alloc(dev->pool, bytes);
	if (pdu->place)
		return BLK_STS_OK;
	/* From here on, freeing space runs the queues again. */
	atomic_set(&dev->is_starved, 1);
	smp_mb__after_atomic();
	pdu->place = gen_pool_alloc(dev->pool, bytes);
	return pdu->place ? BLK_STS_OK : BLK_STS_RESOURCE;
}

static void release(struct drambus_dev *dev, struct drambus_pdu *pdu, size_t bytes)
{
	gen_pool_free(dev->pool, pdu->place, bytes);
	pdu->place = 0;
	smp_mb();
	if (atomic_read(&dev->is_starved) && atomic_xchg(&dev->is_starved, 0))
		blk_mq_run_hw_queues(dev->disk->queue, true);
}

/* Copies a request's data to or from its place in the data buffer. */
static void copy(struct drambus_dev *dev, struct request *rq, bool to_buffer)
{
	u32 place = place_of(blk_mq_rq_to_pdu(rq));
	char *at = drambus_place(dev, place);
	struct req_iterator iter;
	struct bio_vec vec;

	if (!to_buffer)
		drambus_invalidate(dev, place, blk_rq_sectors(rq));
	rq_for_each_segment(vec, rq, iter) {
		if (to_buffer)
			memcpy_from_bvec(at, &vec);
		else
			memcpy_to_bvec(&vec, at);
		at += vec.bv_len;
	}
	if (to_buffer)
		drambus_flush(dev, place, blk_rq_sectors(rq));
}

static blk_status_t queue_rq(struct blk_mq_hw_ctx *hctx, const struct blk_mq_queue_data *bd)
{
	struct drambus_queue *queue = hctx->driver_data;
	struct drambus_dev *dev = queue->dev;
	struct request *rq = bd->rq;
	struct drambus_pdu *pdu = blk_mq_rq_to_pdu(rq);
	struct drambus_command command = { .start = blk_rq_pos(rq), .sectors = blk_rq_sectors(rq) };
	blk_status_t status;

	if (queue->is_broken)
		return BLK_STS_IOERR;
	switch (req_op(rq)) {
	case REQ_OP_READ:
		command.opcode = DRAMBUS_READ;
		break;
	case REQ_OP_WRITE:
		command.opcode = DRAMBUS_WRITE;
		command.fua = rq->cmd_flags & REQ_FUA;
		break;
	case REQ_OP_DISCARD:
		command.opcode = DRAMBUS_TRIM;
		break;
	case REQ_OP_FLUSH:
		command.opcode = DRAMBUS_FLUSH;
		command.start = 0;
		command.sectors = 0;
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	pdu->place = 0;
	pdu->status = BLK_STS_OK;
	if (command.opcode == DRAMBUS_READ || command.opcode == DRAMBUS_WRITE) {
		status = allocate(dev, pdu, blk_rq_bytes(rq));
		if (status != BLK_STS_OK) {
			/* Entries of earlier requests may not have been announced. */
			drambus_ring(queue);
			return status;
		}
		command.has_place = true;
		command.place = place_of(pdu);
	}
	blk_mq_start_request(rq);
	if (command.opcode == DRAMBUS_WRITE)
		copy(dev, rq, true);
	drambus_submit(queue, &command, rq->tag, bd->last);
	return BLK_STS_OK;
}

static void commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	drambus_ring(hctx->driver_data);
}

static blk_status_t status_of(u8 status)
{
	switch (status) {
	case DRAMBUS_SUCCESS:
		return BLK_STS_OK;
	case DRAMBUS_INVALID_OPCODE:
		return BLK_STS_NOTSUPP;
	case DRAMBUS_READ_ERROR:
	case DRAMBUS_WRITE_ERROR:
		return BLK_STS_MEDIUM;
	case DRAMBUS_NO_SPACE:
		return BLK_STS_NOSPC;
	default:
		return BLK_STS_IOERR;
	}
}

static void complete_rq(struct request *rq)
{
	struct drambus_pdu *pdu = blk_mq_rq_to_pdu(rq);
	struct drambus_dev *dev = rq->q->queuedata;

	if (pdu->place) {
		if (req_op(rq) == REQ_OP_READ && pdu->status == BLK_STS_OK)
			copy(dev, rq, false);
		release(dev, pdu, blk_rq_bytes(rq));
	}
	blk_mq_end_request(rq, pdu->status);
}

/* Ends the requests whose completions a pair has. Returns their number. */
int drambus_reap(struct drambus_queue *queue)
{
	struct drambus_dev *dev = queue->dev;
	int reaped = 0;

	for (;;) {
		struct request *rq = NULL;
		unsigned long flags;
		bool taken;
		u8 status;
		u16 id;

		spin_lock_irqsave(&queue->take_lock, flags);
		taken = !queue->is_broken && drambus_take(queue, &id, &status);
		if (taken && id < dev->tags.queue_depth)
			rq = blk_mq_tag_to_rq(dev->tags.tags[queue->pair], id);
		if (taken && (!rq || !blk_mq_request_started(rq))) {
			queue->is_broken = true;
			dev_err(&dev->pdev->dev, "pair %u: completion of command %u, which is not outstanding\n",
				queue->pair, id);
			taken = false;
		}
		spin_unlock_irqrestore(&queue->take_lock, flags);
		if (!taken)
			return reaped;
		reaped++;
		((struct drambus_pdu *)blk_mq_rq_to_pdu(rq))->status = status_of(status);
		blk_mq_complete_request(rq);
	}
}

static int poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *batch)
{
	return drambus_reap(hctx->driver_data);
}

static enum blk_eh_timer_return timeout(struct request *rq)
{
	struct drambus_queue *queue = rq->mq_hctx->driver_data;

	/* The interrupt may have been lost. */
	drambus_reap(queue);
	if (!blk_mq_request_started(rq))
		return BLK_EH_DONE;
	dev_warn(&queue->dev->pdev->dev, "pair %u: command %d has not completed yet\n", queue->pair, rq->tag);
	return BLK_EH_RESET_TIMER;
}

static int init_hctx(struct blk_mq_hw_ctx *hctx, void *data, unsigned int index)
{
	struct drambus_dev *dev = data;

	hctx->driver_data = &dev->queues[index];
	return 0;
}

/* Pairs for polled requests come last. */
static void map_queues(struct blk_mq_tag_set *set)
{
	struct drambus_dev *dev = set->driver_data;
	unsigned int interrupting = dev->pairs - dev->poll_pairs;
	unsigned int type;

	for (type = 0; type < set->nr_maps; type++) {
		struct blk_mq_queue_map *map = &set->map[type];
		bool polled = type == HCTX_TYPE_POLL;

		map->nr_queues = polled ? dev->poll_pairs : type == HCTX_TYPE_DEFAULT ? interrupting : 0;
		map->queue_offset = polled ? interrupting : 0;
		if (map->nr_queues)
			blk_mq_map_queues(map);
	}
}

static const struct blk_mq_ops ops = {
	.queue_rq = queue_rq,
	.commit_rqs = commit_rqs,
	.complete = complete_rq,
	.poll = poll,
	.timeout = timeout,
	.init_hctx = init_hctx,
	.map_queues = map_queues,
};

static const struct block_device_operations disk_ops = { .owner = THIS_MODULE };

static ssize_t flushed_lines_show(struct device *device, struct device_attribute *attr, char *text)
{
	struct drambus_dev *dev = dev_to_disk(device)->private_data;

	return sysfs_emit(text, "%lld\n", atomic64_read(&dev->flushed_lines));
}
static DEVICE_ATTR_RO(flushed_lines);

static ssize_t invalidated_lines_show(struct device *device, struct device_attribute *attr, char *text)
{
	struct drambus_dev *dev = dev_to_disk(device)->private_data;

	return sysfs_emit(text, "%lld\n", atomic64_read(&dev->invalidated_lines));
}
static DEVICE_ATTR_RO(invalidated_lines);

static struct attribute *attributes[] = { &dev_attr_flushed_lines.attr, &dev_attr_invalidated_lines.attr, NULL };
static const struct attribute_group coherence_group = { .name = "coherence", .attrs = attributes };
static const struct attribute_group *groups[] = { &coherence_group, NULL };

/* Creates the disk with its limits. */
static struct gendisk *create_disk(struct drambus_dev *dev, unsigned int sectors)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
	struct queue_limits limits = {
		.max_hw_sectors = sectors,
		.max_segments = USHRT_MAX,
		.max_segment_size = UINT_MAX,
		.max_hw_discard_sectors = DRAMBUS_TRIM_SECTORS,
		.discard_granularity = SECTOR_SIZE,
	};

	if (dev->identity.cached_writes)
		limits.features = BLK_FEAT_WRITE_CACHE | BLK_FEAT_FUA;
	return blk_mq_alloc_disk(&dev->tags, &limits, dev);
#else
	struct gendisk *disk = blk_mq_alloc_disk(&dev->tags, dev);

	if (IS_ERR(disk))
		return disk;
	blk_queue_max_hw_sectors(disk->queue, sectors);
	blk_queue_max_segments(disk->queue, USHRT_MAX);
	blk_queue_max_segment_size(disk->queue, UINT_MAX);
	blk_queue_max_discard_sectors(disk->queue, DRAMBUS_TRIM_SECTORS);
	disk->queue->limits.discard_granularity = SECTOR_SIZE;
	blk_queue_flag_set(QUEUE_FLAG_NONROT, disk->queue);
	blk_queue_write_cache(disk->queue, dev->identity.cached_writes, dev->identity.cached_writes);
	return disk;
#endif
}

int drambus_add_disk(struct drambus_dev *dev)
{
	unsigned int sectors = min3(split_kb * 2, dev->db_sectors, dev->identity.command_sectors);
	struct blk_mq_tag_set *tags = &dev->tags;
	int result;

	/* The block layer needs room for a page. */
	if (sectors < PAGE_SIZE >> SECTOR_SHIFT)
		return -EINVAL;
	tags->ops = &ops;
	tags->nr_hw_queues = dev->pairs;
	tags->nr_maps = dev->poll_pairs ? HCTX_MAX_TYPES : 1;
	tags->queue_depth = min_t(u32, min(dev->sq_entries, dev->cq_entries), BLK_MQ_MAX_DEPTH);
	tags->cmd_size = sizeof(struct drambus_pdu);
	tags->numa_node = NUMA_NO_NODE;
#ifdef BLK_MQ_F_SHOULD_MERGE
	tags->flags = BLK_MQ_F_SHOULD_MERGE;
#endif
	tags->driver_data = dev;
	result = blk_mq_alloc_tag_set(tags);
	if (result)
		return result;
	dev->index = ida_alloc(&indices, GFP_KERNEL);
	if (dev->index < 0) {
		result = dev->index;
		goto free_tags;
	}
	dev->disk = create_disk(dev, sectors);
	if (IS_ERR(dev->disk)) {
		result = PTR_ERR(dev->disk);
		goto free_index;
	}
	snprintf(dev->disk->disk_name, DISK_NAME_LEN, "drambus%d", dev->index);
	dev->disk->fops = &disk_ops;
	dev->disk->private_data = dev;
	set_capacity(dev->disk, dev->identity.capacity);
	result = device_add_disk(&dev->pdev->dev, dev->disk, groups);
	if (!result)
		return 0;
	put_disk(dev->disk);
free_index:
	ida_free(&indices, dev->index);
free_tags:
	blk_mq_free_tag_set(tags);
	return result;
}

void drambus_remove_disk(struct drambus_dev *dev)
{
	del_gendisk(dev->disk);
	/* A late interrupt must find no tags to look up. */
	drambus_stop(dev);
	put_disk(dev->disk);
	ida_free(&indices, dev->index);
	blk_mq_free_tag_set(&dev->tags);
}

/* The number of pairs without interrupts; one must remain for the others. */
unsigned int drambus_poll_pairs(unsigned int pairs)
{
	return min(poll_queues, pairs - 1);
}
