/* SPDX-License-Identifier: Apache-2.0 */
/* Stands for a message passing library (device_aware_send.cu): the network card is not there. */
int MPI_Send(const void *data, int count);

int MPI_Send(const void *data, int count)
{
	return data && count > 0 ? 0 : 1;
}
