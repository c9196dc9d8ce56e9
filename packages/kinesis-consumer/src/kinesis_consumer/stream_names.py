"""What a group calls its streams. The ids of batches hold it, so it is the same however the user gave a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from kinesis_core import OptionError
from kinesis_core.aws import StreamRef


def name_streams(streams: Sequence[StreamRef], find_arn: Callable[[StreamRef], str]) -> dict[StreamRef, str]:
    """
    Return the name of each stream, or its ARN where another stream of the group has the same name.

    *find_arn* returns the ARN of a stream that was given by its name. It is called only for such a name that is not the only one.

    Raises:
        OptionError: A stream is given twice: by its name and by its ARN.
    """
    counts = Counter(ref.name for ref in streams)
    names = {ref: ref.name if counts[ref.name] == 1 else ref.arn or find_arn(ref) for ref in streams}
    if len(set(names.values())) < len(streams):
        twice = sorted(ref.label for ref in streams if Counter(names.values())[names[ref]] > 1)
        raise OptionError(f"'streams' accepts different streams; {' and '.join(twice)} are the same one.")
    return names
