// SPDX-License-Identifier: Apache-2.0
// Two branches of a captured graph fill the upper and the lower part of a
// grid, each with the row of the boundary.
#include "hold.h"

#define W 256
#define H 64

__global__ void fill_rows(int* grid, int from, int to, int v) {
  for (int y = from + blockIdx.x; y < to; y += gridDim.x) grid[y * W + threadIdx.x] = v + y;
}

int main() {
  int* grid;
  CHECK(cudaMalloc(&grid, W * H * sizeof(int)));
  CHECK(cudaMemset(grid, 0, W * H * sizeof(int)));
  CHECK(cudaDeviceSynchronize());
  cudaStream_t up, low;
  CHECK(cudaStreamCreateWithFlags(&up, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&low, cudaStreamNonBlocking));
  cudaEvent_t e, f;
  CHECK(cudaEventCreate(&e));
  CHECK(cudaEventCreate(&f));

  CHECK(cudaStreamBeginCapture(up, cudaStreamCaptureModeRelaxed));
  CHECK(cudaEventRecord(e, up));
  CHECK(cudaStreamWaitEvent(low, e));
  hold(up);
  fill_rows<<<8, W, 0, up>>>(grid, 0, H / 2 + 1, 1000);
  fill_rows<<<8, W, 0, low>>>(grid, H / 2, H, 2000);
  CHECK(cudaEventRecord(f, low));
  CHECK(cudaStreamWaitEvent(up, f));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(up, &graph));

  cudaGraphExec_t run;
  CHECK(cudaGraphInstantiateWithFlags(&run, graph, 0));
  CHECK(cudaGraphLaunch(run, up));
  CHECK(cudaStreamSynchronize(up));
  static int h[W * H];
  CHECK(cudaMemcpy(h, grid, sizeof h, cudaMemcpyDeviceToHost));
  report(h, sizeof h);
  return 0;
}
