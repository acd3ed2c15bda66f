/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for cuBLAS, which does not run on the simulated device: a call in host pointer mode. */
int cudaMemcpy(void *to, const void *from, unsigned long bytes, int direction);
int cublasDdot_v2(double *result, const double *device);

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
