// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* The PCI function: registers, memory, interrupts. */
#include <linux/interrupt.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/module.h>

#include "drambus.h"

static irqreturn_t interrupt(int irq, void *data)
{
	return drambus_reap(data) ? IRQ_HANDLED : IRQ_NONE;
}

/* Resets the device and maps its region: what comes before the data buffer uncached, the data buffer cached. */
static int map_region(struct drambus_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	resource_size_t start = pci_resource_start(pdev, 2);
	void __iomem *registers = dev->registers;
	u64 bytes = readq(registers + DRAMBUS_REGION_BYTES);
	int result;

	if (readl(registers + DRAMBUS_SIGNATURE) != DRAMBUS_SIGNATURE_VALUE ||
	    readl(registers + DRAMBUS_VERSION) != DRAMBUS_VERSION_VALUE)
		return dev_err_probe(&pdev->dev, -ENODEV, "no shared buffer of version %u\n", DRAMBUS_VERSION_VALUE);
	if (bytes < PAGE_SIZE || bytes > pci_resource_len(pdev, 2))
		return dev_err_probe(&pdev->dev, -EINVAL, "region of %llu bytes\n", bytes);
	writel(DRAMBUS_RESET, registers + DRAMBUS_CONTROL);
	if (!(readl(registers + DRAMBUS_STATUS) & DRAMBUS_READY))
		return dev_err_probe(&pdev->dev, -EIO, "not ready after a reset\n");
	dev->control = devm_ioremap(&pdev->dev, start, PAGE_SIZE);
	if (!dev->control)
		return -ENOMEM;
	result = drambus_read_layout(dev, bytes);
	devm_iounmap(&pdev->dev, dev->control);
	if (result)
		return dev_err_probe(&pdev->dev, result, "invalid header of the region\n");
	dev->control = devm_ioremap(&pdev->dev, start, dev->db);
	if (!dev->control)
		return -ENOMEM;
	dev->data = devm_memremap(&pdev->dev, start + dev->db, (size_t)dev->db_sectors << SECTOR_SHIFT, MEMREMAP_WB);
	return PTR_ERR_OR_ZERO(dev->data);
}

/* Creates the allocator of the data buffer: runs aligned to their order, like a buddy system's. */
static int create_pool(struct drambus_dev *dev)
{
	dev->pool = devm_gen_pool_create(&dev->pdev->dev, SECTOR_SHIFT, NUMA_NO_NODE, "drambus");
	if (IS_ERR(dev->pool))
		return PTR_ERR(dev->pool);
	gen_pool_set_algo(dev->pool, gen_pool_first_fit_order_align, NULL);
	return gen_pool_add(dev->pool, SECTOR_SIZE, (size_t)dev->db_sectors << SECTOR_SHIFT, NUMA_NO_NODE);
}

static void free_vectors(void *pdev)
{
	pci_free_irq_vectors(pdev);
}

static int request_interrupts(struct drambus_dev *dev)
{
	struct pci_dev *pdev = dev->pdev;
	u64 enabled = 0;
	u32 pair;
	int result;

	result = pci_alloc_irq_vectors(pdev, dev->pairs, dev->pairs, PCI_IRQ_MSIX);
	if (result < 0)
		return dev_err_probe(&pdev->dev, result, "%u interrupt vectors\n", dev->pairs);
	result = devm_add_action_or_reset(&pdev->dev, free_vectors, pdev);
	if (result)
		return result;
	for (pair = 0; pair < dev->pairs - dev->poll_pairs; pair++) {
		result = devm_request_irq(&pdev->dev, pci_irq_vector(pdev, pair), interrupt, 0, "drambus",
					  &dev->queues[pair]);
		if (result)
			return result;
		enabled |= BIT_ULL(pair);
	}
	writeq(enabled, dev->registers + DRAMBUS_INTERRUPT_ENABLE);
	return 0;
}

static int probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct drambus_dev *dev = devm_kzalloc(&pdev->dev, sizeof(*dev), GFP_KERNEL);
	int result;

	if (!dev)
		return -ENOMEM;
	dev->pdev = pdev;
	pci_set_drvdata(pdev, dev);
	result = pcim_enable_device(pdev);
	if (result)
		return result;
	pci_set_master(pdev);
	dev->registers = devm_ioremap(&pdev->dev, pci_resource_start(pdev, 0), DRAMBUS_REGISTERS_END);
	if (!dev->registers)
		return -ENOMEM;
	result = map_region(dev);
	if (result)
		return result;
	result = create_pool(dev);
	if (result)
		return result;
	dev->poll_pairs = drambus_poll_pairs(dev->pairs);
	drambus_init_queues(dev);
	/* Identify is polled. */
	writeq(0, dev->registers + DRAMBUS_INTERRUPT_ENABLE);
	result = drambus_identify(dev);
	if (result)
		return dev_err_probe(&pdev->dev, result, "the device does not identify itself\n");
	result = request_interrupts(dev);
	if (result)
		return result;
	result = drambus_add_disk(dev);
	if (result)
		return result;
	dev_info(&pdev->dev, "%llu sectors, %u queue pairs (%u polled) of %u entries, data buffer of %u KiB\n",
		 dev->identity.capacity, dev->pairs, dev->poll_pairs, dev->sq_entries, dev->db_sectors / 2);
	return 0;
}

static void remove(struct pci_dev *pdev)
{
	struct drambus_dev *dev = pci_get_drvdata(pdev);

	drambus_remove_disk(dev);
	writel(DRAMBUS_RESET, dev->registers + DRAMBUS_CONTROL);
}

static const struct pci_device_id ids[] = { { PCI_DEVICE(DRAMBUS_VENDOR, DRAMBUS_DEVICE) }, {} };
MODULE_DEVICE_TABLE(pci, ids);

static struct pci_driver drambus_driver = { .name = "drambus", .id_table = ids, .probe = probe, .remove = remove };
module_pci_driver(drambus_driver);

MODULE_DESCRIPTION("Storage behind a shared buffer on the memory bus");
MODULE_LICENSE("Dual MIT/GPL");
