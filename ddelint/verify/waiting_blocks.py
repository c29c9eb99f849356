"""Blocks of a kernel that wait for each other, run by an interpreter that knows one block at a time.

Each block has a thread; one of them runs, up to the barrier or its end, and then hands over to the next.
"""

from __future__ import annotations

import inspect
import itertools
import threading
from collections.abc import Callable
from typing import Any


class WaitingBlocks:
    """Stands for a kernel's function: its first call runs all blocks of the `grid`, later ones nothing.

    `choose` tells the interpreter which block it is about. What a block raises is raised again.
    """

    def __init__(self, function: Any, grid: tuple[int, int, int], choose: Callable[[int, int, int], None]) -> None:
        self.__name__ = function.__name__
        self.__globals__ = function.__globals__
        self.__annotations__ = function.__annotations__
        self.__signature__ = inspect.signature(function)
        self._function = function
        self._choose = choose
        self._waiting: list[_Block] | None = None
        self._grid = grid

    def __call__(self, **arguments: Any) -> None:
        if self._waiting is not None:
            return
        # the x dimension varies fastest: those are the blocks that wait for each other
        places = [(x, y, z) for z, y, x in itertools.product(*(range(size) for size in reversed(self._grid)))]
        self._waiting = [_Block(place, self._function, arguments) for place in places]
        try:
            while self._waiting:
                for block in self._waiting:
                    self._choose(*block.place)
                    block.go_on()
                self._waiting = [block for block in self._waiting if not block.ended]
        finally:
            for block in self._waiting:
                block.give_up()

    def barrier(self, *_: Any) -> None:
        """What a block calls in place of the kernel's own barrier."""
        current = threading.current_thread()
        assert isinstance(current, _Block)
        current.wait()


class _GivenUp(BaseException):
    """Another block has failed."""


class _Block(threading.Thread):
    """One block; it runs only while `go_on` waits for it."""

    def __init__(self, place: tuple[int, int, int], function: Any, arguments: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.place = place
        self.ended = False
        self._call: Callable[[], Any] = lambda: function(**arguments)
        self._turn, self._handed_over = threading.Semaphore(0), threading.Semaphore(0)
        self._given_up = False
        self._error: Exception | None = None
        self.start()

    def go_on(self) -> None:
        """Run up to the next barrier or the end. Raises what the block raises."""
        self._turn.release()
        self._handed_over.acquire()
        if self._error is not None:
            raise self._error

    def give_up(self) -> None:
        """Let the thread end."""
        self._given_up = True
        self._turn.release()

    def wait(self) -> None:
        """Hand over, until it is this block's turn again."""
        self._handed_over.release()
        self._turn.acquire()
        if self._given_up:
            raise _GivenUp

    def run(self) -> None:
        """The thread."""
        self._turn.acquire()
        try:
            if not self._given_up:
                self._call()
        except _GivenUp:
            return
        except Exception as error:
            self._error = error
        self.ended = True
        self._handed_over.release()
