"""What somebody who is not root may do, also where the tests run as root."""

import os
import traceback
from collections.abc import Callable

_NOBODY = 65534


def as_plain_user(act: Callable[[], None]) -> bool:
    """Whether an act succeeds, done in a process of its own by nobody in particular."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
            act()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)  # at once: what other tests want done at the end of their process is not this one's
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
