"""The first program: send a function and an array, get an array back.

Run it against a server: python examples/first_program.py [URL]
"""

import sys

import numpy as np

from kcoral import Client, Program

SOURCE = """
def add_one(x):
    return x + 1
"""

program = Program()
module = program.upload(kind="module", source=SOURCE)
add_one = program.get_function(module=module, name="add_one")
x = program.upload(kind="tensor", value=np.arange(4, dtype=np.float32))
y = program.run(fn=add_one, args=[x])
program.return_(key="output", value=y)

url = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8000"
with Client(url) as client:
    result = client.execute(program)
result.raise_for_status()
print(result.results["output"])  # [1. 2. 3. 4.]
print(f"queue {result.queue_ms:.1f} ms, elapsed {result.elapsed_ms:.1f} ms")
