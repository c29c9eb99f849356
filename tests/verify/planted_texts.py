"""Texts that invite a wrong fix without a run, and texts of the same shape whose fix is right.

A text has one function `f`, or a class `Model`, and whatever else is in the file. `calls` are arguments, as Python.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """A file, as it is given to the pass that runs nothing."""

    letter: str
    what: str
    text: str
    calls: tuple[str, ...] = ()
    """Arguments on which the file must do what it did, in eager and where it thinks that it is compiled."""
    rewritten: str = ""
    """For a right fix: what the safe fix writes."""

    def __str__(self) -> str:
        return f"{self.letter}-{self.what}"


HEAD = "import torch\nimport warnings\nimport logging\nimport functools\n\n"
NAN = "torch.tensor([1.0, float('nan')])"
LOW, HIGH = "torch.tensor([1.0, 2.0])", "torch.tensor([5.0, 7.0])"
VALUES = (LOW, HIGH, NAN)

WRONG = (
    Text(
        "E",
        "a place that is one number, beside one in a dimension of its own",
        "@torch.compile\ndef f(x):\n    best = x.argmax()\n    last = x.argmax(-1, keepdim=True)\n"
        "    table = torch.arange(8.0).view(4, 2)\n    return table[best] + table[last]\n",
        VALUES,
    ),
    Text(
        "E",
        "the same beside the places of several rows",
        "@torch.compile\ndef f(x):\n    best = x.argmax()\n    rows = x.expand(3, 2).argmax(1)\n"
        "    table = torch.arange(8.0).view(4, 2)\n    return table[best], table[rows]\n",
        VALUES,
    ),
    Text(
        "E",
        "the opposite of a comparison, where NaN is neither",
        "@torch.compile\ndef f(x):\n    if x.sum() < 4:\n        raise ValueError('low')\n    return x\n",
        VALUES,
    ),
    Text(
        "E",
        "the same in a method, the comparison in an `or`",
        "class Model(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n"
        "        if x.max() > 6 or x.sum() < 4:\n            raise ValueError('out of bounds')\n        return x\n",
        VALUES,
    ),
    Text(
        "E",
        "the same of a name that a walrus gives",
        "@torch.compile\ndef f(x):\n    if (low := x.min()) >= 4:\n        raise ValueError('high')\n"
        "    return x + low\n",
        VALUES,
    ),
    Text(
        "E",
        "the same in an assert that is turned over",
        "@torch.compile\ndef f(x):\n    assert not x.sum() > 4\n    return x\n",
        VALUES,
    ),
    Text(
        "E",
        "a conversion that fails, and is caught",
        "@torch.compile\ndef f(x):\n    try:\n        n = int(x.sum() * 2)\n    except ValueError:\n        n = 0\n"
        "    return x[:1] * n\n",
        VALUES,
    ),
    Text(
        "E",
        "a conversion whose failure a caller catches, in a match",
        "@torch.compile\ndef f(x):\n    n = int(x.mean())\n    return x * n\n\n\ndef main(x, how):\n    match how:\n"
        "        case 'once':\n            try:\n                return f(x)\n"
        "            except (ValueError, OSError):\n                return x\n",
        VALUES,
    ),
    Text(
        "E",
        "a check that a `with` catches",
        "import contextlib\n\n\n@torch.compile\ndef f(x):\n    with contextlib.suppress(AssertionError):\n"
        "        assert x.sum() > 4, 'low'\n        return x * 2\n    return x\n",
        VALUES,
    ),
    Text(
        "E",
        "a log call whose argument counts",
        "SEEN = []\n\n\ndef seen(x):\n    SEEN.append(1)\n    return len(SEEN)\n\n\n@torch.compile\ndef f(x):\n"
        "    if x.sum() > 4:\n        warnings.warn(f'{seen(x)} times')\n    return x * (1 + len(SEEN))\n",
        (HIGH, LOW),
    ),
    Text(
        "E",
        "a log call whose argument writes into what comes back",
        "@torch.compile\ndef f(x):\n    x = x.clone()\n    if x.sum() > 4:\n"
        "        warnings.warn(f'{x.mul_(2).sum()} is much')\n    return x\n",
        (HIGH, LOW),
    ),
    Text(
        "E",
        "a cached function that draws random numbers",
        "@functools.lru_cache(maxsize=None)\ndef noise(n):\n    return torch.rand(n)\n\n\n@torch.compile\ndef f(x):\n"
        "    return noise(int(x.sum().item() * 0 + 2)) - noise(int(x.sum().item() * 0 + 2))\n",
        (HIGH, LOW),
    ),
    Text(
        "E",
        "a cached function that counts its calls",
        "CALLS = {'made': 0}\n\n\n@functools.cache\ndef table(n):\n    CALLS['made'] += 1\n"
        "    return torch.arange(n) + CALLS['made']\n\n\n@torch.compile\ndef f(x):\n"
        "    n = int(x.sum().item() * 0 + 2)\n    return table(n) + table(n)\n",
        (HIGH, LOW),
    ),
    Text(
        "E",
        "a buffer beside a buffer",
        "class Model(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.register_buffer('low', torch.tensor(3.0))\n"
        "        self.register_buffer('ready', torch.tensor(1))\n\n"
        "    def forward(self, x: torch.Tensor):\n        if not (self.ready and x.sum() > self.low):\n"
        "            raise ValueError('not ready')\n        return x\n",
        VALUES,
    ),
    Text(
        "E",
        "a flag beside a tensor",
        "@torch.compile\ndef f(x, strict=False):\n    if strict and x.sum() > 4:\n"
        "        raise ValueError('high')\n    return x\n",
        (*VALUES, f"{HIGH}, True", f"{LOW}, True"),
    ),
    Text(
        "E",
        "what may be None beside a tensor",
        "@torch.compile\ndef f(x, mask=None):\n    assert mask is None or mask.any(), 'none'\n    return x\n",
        (*VALUES, f"{LOW}, torch.tensor([True, False])", f"{LOW}, torch.tensor([False])"),
    ),
    Text(
        "D",
        "a function that gets numbers, too",
        "def f(n):\n    if n > 4:\n        raise ValueError('many')\n    return n * 2\n\n\n@torch.compile\n"
        "def main(x):\n    return f(x.sum())\n\n\ndef size(rows):\n    return f(len(rows)) + f(n=3)\n",
        ("torch.tensor(3.0)", "torch.tensor(7.0)", "3", "9"),
    ),
    Text(
        "D",
        "a function whose default is a number",
        "def f(x, most=4):\n    assert x < most, 'many'\n    return x\n\n\n@torch.compile\ndef main(x):\n"
        "    return f(x.sum())\n\n\nLIMITS = [f(1), f(x=2, most=3)]\n",
        ("torch.tensor(3.0)", "torch.tensor(7.0)", "3", "9"),
    ),
    Text(
        "D",
        "a number in a comprehension",
        "def f(n):\n    return int(n) + 1\n\n\n@torch.compile\ndef main(x):\n    return x * f(x.sum())\n\n\n"
        "def sizes(rows):\n    return {name: f(len(row)) for name, row in rows.items()}, [f(n) for n in '12']\n",
        ("torch.tensor(3.0)", "3", "'4'"),
    ),
    *(
        Text(
            "E",
            f"a conversion whose failure is caught around {what}",
            f"@torch.compile\ndef g(x):\n    n = int(x.sum(-1))\n    return x * n\n\n\n{around}"
            f"def f(x):\n    try:\n        return {call}\n    except ValueError:\n        return x\n",
            (LOW, "torch.ones(2, 2)"),
        )
        for what, around, call in (
            ("a function that calls it", "def once(x):\n    return [g(x)][0]\n\n\n", "once(x)"),
            (
                "two functions",
                "def inner(x):\n    return g(x)\n\n\ndef outer(x):\n    return inner(x)\n\n\n",
                "outer(x)",
            ),
            ("another name for it", "again = g\n\n\n", "again(x)"),
            ("a table of functions", "TABLE = {'mean': g}\n\n\n", "TABLE['mean'](x)"),
            ("a lambda", "late = lambda x: g(x)\n\n\n", "late(x)"),
        )
    ),
    *(
        Text(
            "E",
            f"a warning that {what}",
            "import operator\nimport random\n\nSEEN = {}\n\n\n@torch.compile\ndef f(x):\n"
            f"    if x.sum() > 4:\n        logging.info('%s', {said})\n    return x + torch.rand(2) + len(SEEN)\n",
            (HIGH, LOW),
        )
        for what, said in (
            ("draws a number", "torch.rand(1)"),
            ("draws into a tensor", "torch.empty(2).uniform_()"),
            ("writes to a dict without a name for it", "SEEN.__setitem__('high', 1)"),
            ("adds in place by a function", "operator.iadd(x, 1)"),
            ("adds into what comes back", "torch.add(x, 1, out=x)"),
        )
    ),
    *(
        Text(
            "E",
            f"a cached function that {what}",
            "import random\n\nimport mine\n\nSTATE = {'scale': 1}\nscale = 1\n\n\nclass Config:\n    scale = 1\n\n\n"
            "def draw(n):\n    return torch.rand(n)\n\n\ndef bump():\n    global scale\n    scale += 1\n"
            "    STATE['scale'] += 1\n    Config.scale += 1\n    return scale\n\n\n"
            f"@functools.lru_cache\ndef table(n):\n    return {value}\n\n\n@torch.compile\ndef f(x):\n"
            "    first = table(x.sum().long().item())\n    bump()\n    return first - table(x.sum().long().item())\n",
            (HIGH, LOW),
        )
        for what, value in (
            ("draws in a helper", "draw(n)"),
            ("draws in place", "torch.zeros(n).uniform_()"),
            ("draws what a layer begins with", "torch.nn.Linear(n, 1).weight"),
            ("reads a dict", "torch.arange(n) * STATE['scale']"),
            ("reads a number that others change", "torch.arange(n) * scale"),
            ("reads a class attribute", "torch.arange(n) * Config.scale"),
            ("calls what stands elsewhere", "torch.arange(n) * mine.number()"),
        )
    ),
)

WRONG += (
    *(
        Text(
            "E",
            f"a cached function that {what}",
            f"import mine\n\n\n{rest}@torch.compile\ndef f(x):\n    return table(x.sum().long().item())\n",
            (LOW, HIGH, LOW),
        )
        for what, rest in (
            (
                "is scaled by what is around the cache",
                "def half(g):\n    @functools.wraps(g)\n    def inner(n):\n        return g(n) / 2\n\n"
                "    return inner\n\n\n@half\n@functools.cache\ndef table(n):\n    return torch.arange(n)\n\n\n",
            ),
            (
                "gives a list to fill",
                "@functools.cache\ndef kept(n):\n    return [n]\n\n\n"
                "def table(n):\n    kept(n).append(n)\n    return torch.tensor(kept(n))\n\n\n",
            ),
            (
                "gives what is added to",
                "@functools.cache\ndef kept(n):\n    return torch.zeros(n)\n\n\n"
                "def table(n):\n    total = kept(n)\n    total += 1\n    return total.clone()\n\n\n",
            ),
            (
                "draws, and is given a cast",
                "@functools.cache\ndef kept(n):\n    return torch.rand(n)\n\n\n"
                "def table(n):\n    n = int(torch.tensor(n) * 1)\n    return kept(n) - kept(n)\n\n\n",
            ),
            (
                "draws, is cached where it stands, and is given a cast",
                "def draw(n):\n    return torch.rand(n)\n\n\nkept = functools.cache(draw)\n\n\n"
                "def table(n):\n    n = int(torch.tensor(n) * 1)\n    return kept(n) - kept(n)\n\n\n",
            ),
            (
                "counts in its own iterator",
                "@functools.cache\ndef kept(n):\n    return iter(range(9))\n\n\n"
                "def table(n):\n    return torch.zeros(n) + next(kept(n))\n\n\n",
            ),
        )
    ),
    *(
        Text(
            "E",
            f"a warning that {what}",
            "import contextlib\nimport io\n\n\n@torch.compile\ndef g(x):\n"
            f"    if x.sum() > 4:\n        {said}\n    return x * 2\n\n\n{rest}",
            (HIGH, LOW),
        )
        for what, said, rest in (
            (
                "is recorded, and decides",
                "warnings.warn('high')",
                "def f(x):\n    with warnings.catch_warnings(record=True) as seen:\n"
                "        warnings.simplefilter('always')\n        y = g(x)\n    return -y if seen else y\n",
            ),
            (
                "is an error",
                "warnings.warn('high')",
                "def f(x):\n    with warnings.catch_warnings():\n        warnings.simplefilter('error')\n"
                "        try:\n            return g(x)\n        except UserWarning:\n            return -x\n",
            ),
            (
                "a handler counts",
                "logging.error('high')",
                "class Count(logging.Handler):\n    seen = 0\n\n    def emit(self, record):\n"
                "        Count.seen += 1\n\n\nlogging.getLogger().handlers = [Count()]\n\n\n"
                "def f(x):\n    return g(x) + Count.seen\n",
            ),
            (
                "a filter counts",
                "logging.error('high')",
                "class Count(logging.Filter):\n    seen = 0\n\n    def filter(self, record):\n"
                "        Count.seen += 1\n        return False\n\n\nlogging.getLogger().filters = [Count()]\n\n\n"
                "def f(x):\n    return g(x) + Count.seen\n",
            ),
            (
                "is printed to a text, which is read",
                "print('high')",
                "def f(x):\n    text = io.StringIO()\n    with contextlib.redirect_stdout(text):\n"
                "        y = g(x)\n    return y + len(text.getvalue())\n",
            ),
            (
                "a function of its own counts",
                "warn_once('high')",
                "SEEN = []\n\n\ndef warn_once(text):\n    if text not in SEEN:\n        SEEN.append(text)\n\n\n"
                "def f(x):\n    return g(x) + len(SEEN)\n",
            ),
        )
    ),
    *(
        Text(
            "E",
            f"an exception that {what}",
            f"class Model(torch.nn.Module):\n{text}",
            (LOW, HIGH),
        )
        for what, text in (
            (
                "ends a loop",
                "    def __getitem__(self, i):\n        row = torch.arange(3.0)[i]\n"
                "        if row + self.x.sum() > 8:\n"
                "            raise IndexError(i)\n        return row\n\n    def forward(self, x):\n        self.x = x\n"
                "        return sum(row for row in self)\n",
            ),
            (
                "says that there is no such attribute",
                "    @property\n    def scale(self):\n        if self.x.sum() > 8:\n"
                "            raise AttributeError('none')\n        return self.x\n\n    def forward(self, x):\n"
                "        self.x = x\n        return getattr(self, 'scale', 2.0)\n",
            ),
            (
                "a `finally` drops",
                "    def check(self, x):\n        if x.sum() > 8:\n            raise ValueError('high')\n"
                "        return x\n\n    def forward(self, x):\n        y = -x\n        try:\n"
                "            y = self.check(x)\n        finally:\n            return y\n",
            ),
        )
    ),
    *(
        Text(
            "D",
            f"a bound that is a number at times: {what}",
            f"@torch.compile\ndef f(x, most=None):\n    {lines}\n        raise ValueError('high')\n    return x\n",
            (LOW, HIGH, f"{LOW}, 3.0"),
        )
        for what, lines in (
            ("the larger one", "bound = max(1.0, x.max())\n    if bound > 4:"),
            ("what is given, or the largest", "bound = most if most is not None else x.max()\n    if bound > 4:"),
            ("what is given, or the largest, by `or`", "bound = most or x.max()\n    if bound > 4:"),
            ("the first of two", "bound, _ = (lambda: (x.max(), 1))()\n    if bound > 4:"),
            ("one of a list", "bounds = [x.max(), 3]\n    for bound in bounds:\n      if bound > 4:"),
            ("one after the other", "for bound in (x.max(), 3):\n      if bound > 4:"),
        )
    ),
)

WRONG += (
    Text(
        "E",
        "an exception that is caught around a lambda",
        "def share(x):\n    if x.sum() > 8:\n        raise ZeroDivisionError('high')\n    return x[0]\n\n\n"
        "@torch.compile\ndef f(x):\n    try:\n        return max([1.0, 2.0], key=lambda i: share(x) * i)\n"
        "    except ArithmeticError:\n        return 0.0\n",
        (LOW, HIGH),
    ),
    Text(
        "E",
        "a cached method that reads what its object has",
        "class Model(torch.nn.Module):\n    base = 2.0\n\n    @functools.lru_cache\n    def table(self, n):\n"
        "        return torch.arange(n) / self.base\n\n    def forward(self, x):\n"
        "        first = self.table(x.sum().long().item())\n        self.base += 1\n"
        "        return first - self.table(x.sum().long().item())\n",
        (LOW, HIGH),
    ),
    *(
        Text(
            "D",
            f"what a function gives as a number at times, {how}",
            f"def bounds(x, clip):\n    if clip:\n        return {number}\n    return {tensor}\n\n\n"
            f"@torch.compile\ndef f(x, clip=False):\n    {taken} = bounds(x, clip)\n    if low > 4:\n"
            "        raise ValueError('high')\n    return x - low\n",
            (LOW, HIGH, f"{LOW}, True"),
        )
        for how, number, tensor, taken in (
            ("alone", "0.0", "x.min()", "low"),
            ("first", "0.0, x.max()", "x.min(), x.max()", "low, high"),
            ("last", "x.max(), len(x)", "x.max(), x.min()", "high, low"),
        )
    ),
    Text(
        "E",
        "a length of what may have none, whose exception says so",
        "@torch.compile\ndef f(x):\n    places = (x > 3).nonzero().squeeze()\n    try:\n        n = len(places)\n"
        "    except TypeError:\n        n = 1\n    return x * n\n",
        (LOW, HIGH, "torch.tensor([1.0, 5.0])"),
    ),
    Text(
        "E",
        "a check that runs while somebody goes on",
        "def root(x: torch.Tensor):\n    if x.sum() > 9:\n        raise ValueError('big')\n    return x.sqrt()\n\n\n"
        "@torch.compile\ndef f(x):\n    roots = (root(part) for part in (x, x * 2))\n    total = x\n    try:\n"
        "        for part in roots:\n            total = total + part\n    except ValueError:\n        pass\n"
        "    return total\n",
        (LOW, HIGH),
    ),
    Text(
        "E",
        "a check of a function that torch calls",
        "class Root(torch.autograd.Function):\n    @staticmethod\n    def forward(ctx, x):\n"
        "        assert x.sum() < 9\n        return x.sqrt()\n\n\n"
        "@torch.compile\ndef f(x):\n    try:\n        return Root.apply(x)\n    except AssertionError:\n"
        "        return x\n",
        (LOW, HIGH),
    ),
    Text(
        "J",
        "a warning whose test keeps what it saw",
        "class Model(torch.nn.Module):\n    seen = 0.0\n\n"
        "    def track(self, x):\n        self.seen = self.seen + x.sum()\n        return self.seen\n\n"
        "    def forward(self, x: torch.Tensor):\n        if self.track(x) > 4:\n            warnings.warn('high')\n"
        "        return x / self.seen\n",
        (LOW, HIGH),
    ),
    Text(
        "E",
        "a check of a module that a helper runs",
        "class Unit(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        if x.sum() > 9:\n"
        "            raise OverflowError('big')\n        return x\n\n\ndef run(model, x):\n    return model(x)\n\n\n"
        "def f(x):\n    try:\n        return run(Unit(), x)\n    except ArithmeticError:\n        return x * 0\n",
        (LOW, HIGH),
    ),
    Text(
        "E",
        "a check of a function that is kept for an event",
        "HANDLERS = []\n\n\ndef emit(x):\n    for handler in HANDLERS:\n        handler(x)\n\n\n"
        "@HANDLERS.append\n@torch.compile\ndef check(x: torch.Tensor):\n    if x.sum() > 9:\n"
        "        raise OverflowError('big')\n\n\n"
        "def f(x):\n    try:\n        emit(x)\n    except OverflowError:\n        return x * 0\n    return x\n",
        (LOW, HIGH),
    ),
    Text(
        "E",
        "a cached function that asks for a mode",
        "@functools.cache\ndef table(n):\n    return torch.arange(n) * (2 if torch.is_grad_enabled() else 1)\n\n\n"
        "@torch.compile\ndef f(x):\n    n = x.sum().long().item()\n    with torch.no_grad():\n"
        "        first = table(n)\n"
        "    return first, table(n)\n",
        (LOW, HIGH),
    ),
    Text(
        "J",
        "a log line whose text forgets what it told",
        "class Meter:\n    total = 0.0\n\n    def __format__(self, spec):\n        told, self.total = self.total, 0.0\n"
        "        return format(told, spec)\n\n\nMETER = Meter()\n\n\n@torch.compile\ndef f(x):\n    METER.total += 1\n"
        "    if x.sum() > 4:\n        print(f'{METER:.3f}')\n    return x * METER.total\n",
        (LOW, HIGH),
    ),
    Text(
        "E",
        "a cached method that asks another for what may change",
        "class Model(torch.nn.Module):\n    base = 1\n\n    @functools.lru_cache(8)\n    def table(self, n):\n"
        "        return torch.arange(n) * self.scale()\n\n    def scale(self):\n        return type(self).base\n\n"
        "    def forward(self, x: torch.Tensor):\n        n = x.sum().long().item()\n        first = self.table(n)\n"
        "        type(self).base += 1\n        return first, self.table(n)\n",
        (LOW, HIGH),
    ),
    Text(
        "D",
        "a bound that a function gives as it is asked to",
        "def norm(x, read):\n    total = x.sum()\n    return total.item() if read else total\n\n\n"
        "@torch.compile\ndef f(x, read):\n    total = norm(x, read)\n    if total > 40:\n"
        "        raise ValueError('high')\n    return x[: int(total)]\n",
        (f"{LOW}, False", f"{LOW}, True"),
    ),
    Text(
        "J",
        "what is printed to a text that somebody reads",
        "import io\nimport sys\n\n\n@torch.compile\ndef f(x):\n    before, sys.stdout = sys.stdout, io.StringIO()\n"
        "    if x.sum() > 4:\n        print('high')\n    said, sys.stdout = sys.stdout.getvalue(), before\n"
        "    return x * len(said)\n",
        (LOW, HIGH),
    ),
    Text(
        "J",
        "a message that is kept as it is made",
        "FAILED = []\n\n\ndef said(x):\n    FAILED.append(1)\n    return 'high'\n\n\ndef check(x: torch.Tensor):\n"
        "    assert x.sum() < 9, said(x)\n\n\nchecked = torch.compile(check)\n"
        "exec('def f(x):\\n try:\\n  checked(x)\\n except Exception:\\n  pass\\n return FAILED')\n",
        (HIGH,),
    ),
    Text(
        "E",
        "a cached table that grows under another name of its function",
        "@functools.cache\ndef table(n):\n    return torch.zeros(n)\n\n\ndef rows(x):\n"
        "    return table(x.sum().long().item())\n\n\nfast = torch.compile(rows)\n\n\ndef f(x):\n    box = fast(x)\n"
        "    box += 1\n    return fast(x)\n",
        (LOW, HIGH),
    ),
    Text(
        "D",
        "a bound that an object has as a number or as a tensor",
        "class Model(torch.nn.Module):\n    def __init__(self, most=None):\n        super().__init__()\n"
        "        self.most = 9.0 if most is None else torch.tensor(most)\n\n"
        "    def forward(self, x: torch.Tensor):\n        if self.most < 1 or x.sum() > self.most:\n"
        "            raise ValueError('high')\n        return x\n",
        (LOW, HIGH),
    ),
    Text(
        "J",
        "the same by a property",
        "class Model(torch.nn.Module):\n    asked = 0\n\n"
        "    @property\n    def limit(self):\n        self.asked += 1\n        return self.asked\n\n"
        "    def forward(self, x: torch.Tensor):\n        if x.sum() > self.limit:\n            print('high')\n"
        "        return x * self.asked\n",
        (LOW, HIGH),
    ),
    Text(
        "E",
        "a cached leaf, which keeps a gradient",
        "@functools.cache\ndef table(n):\n    return torch.zeros(n, requires_grad=True)\n\n\n"
        "@torch.compile\ndef f(x):\n    n = x.sum().long().item()\n    (table(n).sum() * x.sum()).backward()\n"
        "    return table(n).grad\n",
        (LOW, HIGH),
    ),
    Text(
        "E",
        "a cache that is asked how often it answered",
        "@functools.cache\ndef table(n):\n    return torch.arange(n)\n\n\n"
        "@torch.compile\ndef f(x):\n    return table(x.sum().long().item()), table.cache_info().misses\n",
        (LOW, HIGH),
    ),
    Text(
        "E",
        "a cached table that a helper fills",
        "@functools.cache\ndef table(n):\n    return torch.zeros(n)\n\n\ndef count(rows):\n    rows[0] += 1\n"
        "    return rows.sum()\n\n\n"
        "@torch.compile\ndef f(x):\n    n = x.sum().long().item()\n    return count(table(n)) + count(table(n))\n",
        (LOW, HIGH),
    ),
)

RIGHT = (
    Text(
        "E",
        "a place that is one number, twice",
        "@torch.compile\ndef f(x):\n    best = x.argmax()\n    table = torch.arange(8.0).view(4, 2)\n"
        "    return table[best] + table[best]\n",
        VALUES,
        rewritten=".item()",
    ),
    Text(
        "E",
        "a check of numbers that nobody catches",
        "@torch.compile\ndef f(x):\n    if x.sum() < 4:\n        raise ValueError('low')\n    return x\n",
        VALUES,
        rewritten="torch._check",
    ),
    Text(
        "E",
        "a conversion that nobody catches",
        "@torch.compile\ndef f(x):\n    n = int(x.max().long())\n    return x[:n]\n",
        (LOW, HIGH),
        rewritten=".item()",
    ),
    Text(
        "E",
        "a warning without effects",
        "@torch.compile\ndef f(x):\n    if x.sum() > 4:\n        warnings.warn('high')\n    return x\n",
        VALUES,
        rewritten="torch.compiler.is_compiling()",
    ),
    Text(
        "E",
        "a warning that a function of its own says once",
        "SEEN = set()\n\n\ndef warn_once(text):\n    if text not in SEEN:\n        SEEN.add(text)\n"
        "        warnings.warn(text)\n\n\n"
        "@torch.compile\ndef f(x):\n    if x.sum() > 4:\n        warn_once('high')\n    return x\n",
        VALUES,
        rewritten="torch.compiler.is_compiling()",
    ),
    Text(
        "D",
        "a bound that is one of two tensors",
        "@torch.compile\ndef f(x):\n    bound = max(x.max(), x.min() + 1)\n    if bound > 9:\n"
        "        raise ValueError('high')\n    return x\n",
        (LOW, HIGH),
        rewritten="torch._check",
    ),
    Text(
        "E",
        "a cached function of nothing but its argument",
        "@functools.cache\ndef table(n):\n    return torch.arange(n)\n\n\n@torch.compile\ndef f(x):\n"
        "    return table(x.sum().long().item())\n",
        (LOW, HIGH),
        rewritten="torch.compiler.is_compiling()",
    ),
    Text(
        "E",
        "a cached function that calls another one, and reads a constant",
        "LEAST: int = 1\n\n\ndef steps(n):\n    return [float(i) for i in range(n)]\n\n\n@functools.lru_cache(8)\n"
        "def table(n):\n    rows = []\n    rows.append(torch.tensor(steps(n)) + LEAST)\n    return rows[0]\n\n\n"
        "@torch.compile\ndef f(x):\n    return table(x.sum().long().item())\n",
        (LOW, HIGH),
        rewritten="torch.compiler.is_compiling()",
    ),
    Text(
        "E",
        "a conversion in a function whose callers catch something else",
        "@torch.compile\ndef f(x):\n    n = int(x.max().long())\n    return x[:n]\n\n\ndef main(x):\n    try:\n"
        "        return f(x)\n    except KeyError:\n        return x\n",
        (LOW, HIGH),
        rewritten=".item()",
    ),
    Text(
        "J",
        "a warning whose test asks a function of nothing but its argument",
        "def largest(x):\n    return x.abs().max()\n\n\n@torch.compile\ndef f(x):\n    if largest(x) > 4:\n"
        "        warnings.warn(f'high: {largest(x)}')\n    return x\n",
        VALUES,
        rewritten="torch.compiler.is_compiling()",
    ),
    Text(
        "E",
        "a check in what is gone through where it stands",
        "def root(x: torch.Tensor):\n    if x.sum() > 90:\n        raise ValueError('big')\n    return x.sqrt()\n\n\n"
        "@torch.compile\ndef f(x):\n    total = sum(root(part) for part in (x, x * 2))\n    try:\n"
        "        return total.view(2)\n    except ValueError:\n        return total\n",
        (LOW, HIGH),
        rewritten="torch._check",
    ),
    Text(
        "E",
        "a check in a module beside a file that is read, where a logger says what failed",
        "import json\n\nlogger = logging.getLogger(__name__)\n\n\ndef load(path):\n    try:\n"
        "        with open(path) as file:\n            return json.load(file)\n"
        "    except ValueError:\n        logger.exception('no %s', path)\n\n\n"
        "class Model(torch.nn.Module):\n    def forward(self, x: torch.Tensor):\n        if x.sum() > 90:\n"
        "            raise ValueError('big')\n        return x\n",
        (LOW, HIGH),
        rewritten="torch._check",
    ),
)
