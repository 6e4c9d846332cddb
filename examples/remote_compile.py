"""Compile a kernel on the server, without holding a GPU, and bring the artifact home.

nvcc compiles it where the server has it; g++ compiles a CPU version elsewhere.
Run it against a server: python examples/remote_compile.py [URL]
"""

import sys

from kcoral import Client, Program

SOURCE = '''
import pathlib
import shutil
import subprocess
import sys

CUDA = """
extern "C" __global__ void scale(float* x, float factor, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}
"""
C = """
void scale(float* x, float factor, int n) {
    for (int i = 0; i < n; ++i) x[i] *= factor;
}
"""


def compile_kernel():
    nvcc = shutil.which("nvcc")
    if nvcc:
        pathlib.Path("scale.cu").write_text(CUDA)
        command = [nvcc, "-cubin", "-arch=sm_90a", "scale.cu", "-o", "artifact"]
    else:
        pathlib.Path("scale.c").write_text(C)
        command = ["gcc", "-O2", "-shared", "-fPIC", "scale.c", "-o", "artifact"]
    print(" ".join(command))
    subprocess.run(command, check=True)
    return pathlib.Path("artifact").read_bytes()
'''

program = Program()
module = program.upload(kind="module", source=SOURCE)
# cpu_only: no GPU is held while the compiler runs.
function = program.get_function(module=module, name="compile_kernel", cpu_only=True)
program.return_(key="artifact", value=program.run(fn=function))

url = sys.argv[1] if len(sys.argv) > 1 else "http://localhost:8000"
with Client(url) as client:
    result = client.execute(program)
result.raise_for_status()
print(result.stdout, end="")
print(f"artifact: {len(result.results['artifact'])} bytes")
print(f"queue {result.queue_ms:.1f} ms, elapsed {result.elapsed_ms:.1f} ms")
