"""Small files of MQSim, and changes of their structure."""

import random
from xml.etree import ElementTree

DEVICE = """<?xml version="1.0" encoding="us-ascii"?>
<Execution_Parameter_Set>
<Host_Parameter_Set><PCIe_Lane_Bandwidth>1.0</PCIe_Lane_Bandwidth><PCIe_Lane_Count>4</PCIe_Lane_Count></Host_Parameter_Set>
<Device_Parameter_Set>
<Seed>321</Seed>
<Enabled_Preconditioning>true</Enabled_Preconditioning>
<IO_Queue_Depth>1024</IO_Queue_Depth>
<Data_Cache_Capacity>4194304</Data_Cache_Capacity>
<Plane_Allocation_Scheme>CWDP</Plane_Allocation_Scheme>
<Overprovisioning_Ratio>0.127</Overprovisioning_Ratio>
<GC_Exec_Threshold>0.05</GC_Exec_Threshold>
<GC_Block_Selection_Policy>RGA</GC_Block_Selection_Policy>
<Flash_Channel_Count>2</Flash_Channel_Count>
<Chip_No_Per_Channel>2</Chip_No_Per_Channel>
<Channel_Transfer_Rate>333</Channel_Transfer_Rate>
<Flash_Parameter_Set>
<Flash_Technology>TLC</Flash_Technology>
<CMD_Suspension_Support>ERASE</CMD_Suspension_Support>
<Page_Read_Latency_LSB>75000</Page_Read_Latency_LSB>
<Die_No_Per_Chip>2</Die_No_Per_Chip>
<Plane_No_Per_Die>2</Plane_No_Per_Die>
<Block_No_Per_Plane>256</Block_No_Per_Plane>
<Page_No_Per_Block>256</Page_No_Per_Block>
<Page_Capacity>8192</Page_Capacity>
</Flash_Parameter_Set>
</Device_Parameter_Set>
</Execution_Parameter_Set>
"""
_FLOW = """<Priority_Class>HIGH</Priority_Class>
<Device_Level_Data_Caching_Mode>WRITE_CACHE</Device_Level_Data_Caching_Mode>
<Channel_IDs>0,1</Channel_IDs><Chip_IDs>0,1</Chip_IDs><Die_IDs>0,1</Die_IDs><Plane_IDs>0,1</Plane_IDs>
<Initial_Occupancy_Percentage>75</Initial_Occupancy_Percentage>
"""
WORKLOAD = f"""<?xml version="1.0" encoding="us-ascii"?>
<MQSim_IO_Scenarios>
<IO_Scenario>
<IO_Flow_Parameter_Set_Synthetic>
{_FLOW}<Working_Set_Percentage>50</Working_Set_Percentage>
<Synthetic_Generator_Type>QUEUE_DEPTH</Synthetic_Generator_Type>
<Read_Percentage>70</Read_Percentage>
<Address_Distribution>RANDOM_HOTCOLD</Address_Distribution>
<Percentage_of_Hot_Region>10</Percentage_of_Hot_Region>
<Generated_Aligned_Addresses>true</Generated_Aligned_Addresses>
<Address_Alignment_Unit>16</Address_Alignment_Unit>
<Request_Size_Distribution>NORMAL</Request_Size_Distribution>
<Average_Request_Size>8</Average_Request_Size>
<Variance_Request_Size>3</Variance_Request_Size>
<Seed>798</Seed>
<Average_No_of_Reqs_in_Queue>16</Average_No_of_Reqs_in_Queue>
<Bandwidth>262144</Bandwidth>
<Stop_Time>0</Stop_Time>
<Total_Requests_To_Generate>100</Total_Requests_To_Generate>
</IO_Flow_Parameter_Set_Synthetic>
<IO_Flow_Parameter_Set_Trace_Based>
{_FLOW}<File_Path>some.trace</File_Path>
<Percentage_To_Be_Executed>100</Percentage_To_Be_Executed>
<Relay_Count>2</Relay_Count>
<Time_Unit>NANOSECOND</Time_Unit>
</IO_Flow_Parameter_Set_Trace_Based>
</IO_Scenario>
</MQSim_IO_Scenarios>
"""
TRACE = "1000000 4 64 16 0\n2000500 3 128 8 1\n3000000 3 99999999999 8 1\n"


def mutate_elements(rng: random.Random, text: str, words: list[str]) -> str:
    """Change the structure of an XML text, which remains well-formed."""
    root = ElementTree.fromstring(text)
    for _ in range(rng.choice((1, 1, 2, 4))):
        parents = [element for element in root.iter() if len(element)]
        parent, other = rng.choice(parents or [root]), rng.choice(parents or [root])
        children = list(parent) or [root]
        child = rng.choice(children)
        match rng.randrange(6):
            case 0:
                child.text = rng.choice((*words, "", " " * 40, "9" * 40, "\u00e9", "1,2,3", "-1.5"))
            case 1:
                child.tag = rng.choice((parent.tag, "x", "Seed", "File_Path"))
            case 2 if child is not root:
                parent.remove(child)
            case 3:
                parent.extend([ElementTree.fromstring(ElementTree.tostring(child))] * rng.choice((1, 3, 100)))
            case 4:
                other.append(ElementTree.fromstring(ElementTree.tostring(child)))
            case _:
                child.text = str(10 ** rng.randrange(22) * rng.randrange(10))
    return ElementTree.tostring(root, encoding="unicode")
