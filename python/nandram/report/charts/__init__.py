"""Charts of pages: series differ in color, dash and shape; the pointer shows values and zooms.

Each function returns a Vega-Lite specification.

vega_lite.py    specifications as plain dicts       line_charts.py    lines, and points joined in their order
axis.py         axes of numbers                     marks.py          values that a paper states, crossings of lines
names.py        axes of names                       bar_charts.py     groups, stacks, changes
series.py       styles and legends of the series    point_charts.py   points with a line at 0, intervals, ranges
                                                    cell_charts.py    heat maps and densities
"""

from nandram.report.charts.axis import Axis
from nandram.report.charts.bar_charts import bars, groups, tornado
from nandram.report.charts.cell_charts import density, heat_map
from nandram.report.charts.line_charts import lines, path
from nandram.report.charts.marks import Marks
from nandram.report.charts.names import rows_height
from nandram.report.charts.point_charts import cloud, dots, intervals, points, spans

__all__ = [
    "Axis",
    "Marks",
    "bars",
    "cloud",
    "density",
    "dots",
    "groups",
    "heat_map",
    "intervals",
    "lines",
    "path",
    "points",
    "rows_height",
    "spans",
    "tornado",
]
