"""Done once in the zygote: what first use loads, builds and touches is then shared by every session.

Without it a session's first pandas cell has twice the memory of its own. Nothing here may start a thread, or leave a
descriptor open (an event loop would): what is open in the zygote is open in every session.
"""
# IPython is hardly typed, and numpy is only in the sandbox's environment.
# pyright: basic, reportMissingImports=false

from sandbox.kernel.shell import CellShell

_CELLS = (
    "import pandas as pd, numpy as np",
    "frame = pd.DataFrame({'a': range(100), 'b': list('xyzt') * 25, 'c': np.linspace(0, 1, 100)})",
    "frame['d'] = pd.date_range('2026-01-01', periods=100)\nframe.describe()",
    "frame.groupby('b').agg({'a': 'sum', 'c': 'mean'}).merge(frame, left_index=True, right_on='b').sort_values('c')",
    "frame.set_index('d').resample('MS')['a'].sum().rename('x').to_frame().T",
    "frame.to_csv(index=False); frame.pivot_table(index='b', values='a', aggfunc='sum').round(2)",
    "import statsmodels.api as sm\nsm.OLS(frame['c'], sm.add_constant(frame[['a']])).fit().params",
    "import matplotlib.pyplot as plt\n_, axes = plt.subplots()\naxes.plot(frame['a'], label='x')\naxes.legend()",
    "def f():\n    raise ValueError('rehearsed')\nf()",
)


def rehearse(shell: CellShell) -> None:
    """Run a few cells of each kind, and forget them."""
    for cell in _CELLS:
        shell.run_cell(cell, store_history=True)
    shell.reset(new_session=True)
    shell.traceback_lines = []
    shell.execution_count = 1
