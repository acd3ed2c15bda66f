/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for cuBLAS, which does not run on the simulated device: a call in host pointer mode. */
int cudaMemcpy(void *to, const void *from, unsigned long bytes, int direction);
int cudaMemcpyAsync(void *to, const void *from, unsigned long bytes, int direction, void *stream);
int cudaMemsetAsync(void *device, int value, unsigned long bytes, void *stream);
int cudaEventCreate(void **event);
int cudaEventRecord(void *event, void *stream);
int cudaEventSynchronize(void *event);
int cublasSetPointerMode_v2(int mode);
int cublasDdot_v2(double *result, const double *device);
int cublasDnrm2_v2(double *result, double *device, unsigned long bytes);

static int fetch(double *result, const double *device)
{
	return cudaMemcpy(result, device, sizeof(*result), 2) ? 14 : 0;
}

/* Not a tail call, which would leave no frame. */
int cublasDdot_v2(double *result, const double *device)
{
	int status = fetch(result, device);

	__asm__ volatile("" : "+r"(status));
	return status;
}

static int is_on_device;

int cublasSetPointerMode_v2(int mode)
{
	is_on_device = mode;
	return 0;
}

/* A kernel, and then the result for the host. */
int cublasDnrm2_v2(double *result, double *device, unsigned long bytes)
{
	static void *copied;
	int status = copied ? 0 : cudaEventCreate(&copied);

	status |= cudaMemsetAsync(device, 0, bytes, 0);
	if (!is_on_device) {
		status |= cudaMemcpyAsync(result, device, sizeof(*result), 2, 0);
		status |= cudaEventRecord(copied, 0);
		status |= cudaEventSynchronize(copied);
	}
	__asm__ volatile("" : "+r"(status));
	return status ? 14 : 0;
}
