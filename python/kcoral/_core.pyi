"""The worker's extension: the zygote's loop and, behind it, all that a worker does."""

def serve(
    channel: int,
    sandboxed: bool,
    workspaces: str,
    preloads: list[tuple[str, float, str]],
    versions: dict[str, str],
    limits: str,
) -> None:
    """Forks workers as the server asks for them; returns when it closes the channel.

    ``preloads`` holds module, milliseconds and why it was dropped (empty: it was not). Raises
    RuntimeError when no seat can be launched here or the channel broke, ValueError for bad limits.
    In a forked worker it does not return.
    """
