/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_code.h"

#include <fnmatch.h>
#include <string.h>

/*
 * PyTorch: torch.cuda.Stream and "CUDA semantics"; CuPy: cupy.cuda.Stream; Numba: numba.cuda.stream
 * and numba.cuda.event.
 */
static const struct framework frameworks[] = {
	{ "PyTorch", FILES_OF_PYTORCH, "{later}.wait_stream({earlier})", "{earlier}.synchronize()",
		"torch.cuda.current_stream()", "torch.cuda.default_stream()",
		"Stream.wait_stream()" },
	{ "CuPy", FILES_OF_CUPY, "{later}.wait_event({earlier}.record())",
		"{earlier}.synchronize()", "cupy.cuda.get_current_stream()",
		"cupy.cuda.Stream.null", "Stream.wait_event()" },
	{ "Numba", FILES_OF_NUMBA, "event.record({earlier}); event.wait({later})",
		"{earlier}.synchronize()", NULL, "cuda.default_stream()", "event.wait()" },
};

enum { FRAMEWORKS = sizeof(frameworks) / sizeof(*frameworks) };

static int find_framework(const struct code_frame *frame, void *data)
{
	const struct framework **found = data;

	for (size_t i = 0; i < FRAMEWORKS && !*found; i++)
		if (!fnmatch(frameworks[i].files, frame->file, FNM_EXTMATCH) ||
			!fnmatch(frameworks[i].files, frame->module, FNM_EXTMATCH))
			*found = &frameworks[i];
	return *found != NULL;
}

const struct framework *framework_of_call(struct code_frames *frames, int64_t call)
{
	const struct framework *found = NULL;

	return code_frames_visit(frames, call, find_framework, &found) > 0 ? found : NULL;
}

int framework_gets_stream(const char *expression)
{
	for (size_t i = 0; i < FRAMEWORKS; i++)
		if (!strcmp(expression, frameworks[i].standard) ||
			(frameworks[i].current && !strcmp(expression, frameworks[i].current)))
			return 1;
	return 0;
}

struct stream_search {
	struct code_called called;
	char *text;
};

/* A script's callers may have chosen the stream; compiled code has it in its own line. */
static int find_stream(const struct code_frame *frame, void *data)
{
	struct stream_search *search = data;

	if (frame->script)
		return frame->source &&
			stream_expression_script(frame->source, frame->line, search->text);
	if (!frame->user)
		return 0;
	if (!frame->source ||
		!stream_expression_compiled(frame->source, frame->line, &search->called,
			search->text))
		*search->text = 0;
	return 1;
}

int stream_code(struct code_frames *frames, int64_t call, char text[STREAM_EXPRESSION_SIZE])
{
	struct stream_search search = { .text = text };
	int found;

	*text = 0;
	if (code_frames_called(frames, call, &search.called))
		return -1;
	found = code_frames_visit(frames, call, find_stream, &search);
	return found > 0 ? *text != 0 : found;
}
