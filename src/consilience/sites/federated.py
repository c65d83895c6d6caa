"""The verb :func:`federation`: sites that keep their rows, as one engine.

Sites are asked what they have, agree on one study, and then answer rounds. Learners run on the
federation as on any engine and get the numbers that all rows in one place would give.

What was once answered is kept: the joint counts of a set of variables serve every family of them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from consilience import _check
from consilience.classify.evaluation import Evaluation
from consilience.data.table import Table
from consilience.data.variable import Schema, Variable
from consilience.errors import ConsilienceError, DataError, InputError, RefusalError, SiteError
from consilience.files.objects import Content
from consilience.fusion.united_tables import united_variables
from consilience.network.network import Network
from consilience.sites.confusion import evaluated
from consilience.sites.exchange import Exchange, InProcess, Way
from consilience.sites.folders import Folder
from consilience.sites.gathered import Gathered
from consilience.sites.https import Https
from consilience.sites.message import MOST_HEADER, Reply, Request, variables_from
from consilience.sites.scouting import scout_of
from consilience.sites.site import Site
from consilience.sites.study_agreement import Agreement
from consilience.sites.study_limits import SiteLimits, limits_of
from consilience.sites.study_record import StudyRecord
from consilience.statistics.request import Answer, Request as Statistic

__all__ = ["Federation", "federation"]


class Federation:
    """Sites that agreed on one study, as an engine; made by :func:`federation`.

    Mutable, with one owner: it numbers the rounds and keeps what was answered.
    """

    bytes_guessed: ClassVar[float] = 1.5

    def __init__(self, gathered: Gathered, source: str | None) -> None:
        self._gathered = gathered
        self._schema = gathered.agreement.schema(source)
        self._scout: Table | None = None

    @property
    def schema(self) -> Schema:
        """The variables of the study; the sites are the source unless counts leave masked."""
        return self._schema

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name to variable, as of a table."""
        return self._schema.variables

    @property
    def source(self) -> str | None:
        """Name of the source variable; None if counts leave masked."""
        return None if self._schema.source is None else self._schema.source.name

    @property
    def sources(self) -> tuple[str, ...]:
        """Names of the sites, if each has counts of its own."""
        return () if self._schema.source is None else self._schema.source.discrete_states

    @property
    def n_rows(self) -> float:
        """Rows of all sites together."""
        return sum(self.record.n_rows.values())

    @property
    def agreement(self) -> Agreement:
        """Study, sites, variables and mode."""
        return self._gathered.agreement

    @property
    def mode(self) -> str:
        """How counts leave the sites: ``secure``, ``intervals`` or ``exact``."""
        return self.agreement.mode

    @property
    def record(self) -> StudyRecord:
        """Rounds, bytes, refusals, what was withheld, and policies, so far."""
        return self._gathered.record(self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the mode means for what is learned."""
        n_withheld = len(self._gathered.withheld)
        withheld = f"{n_withheld} families were withheld by sites and left out."
        return (*_ABOUT[self.mode], *([withheld] if n_withheld else []))

    def notes_on(self, names: Iterable[str]) -> tuple[str, ...]:
        """What a reader of a search or a fit over these variables should know."""
        return self.notes

    def gather(self, request: Statistic[Answer]) -> Answer:
        """The answer for all rows of all sites."""
        return self._gathered.answer(request, self._schema)

    def ask(self, kind: str, content: Mapping[str, Any], n_cells: int = 0) -> list[Reply]:
        """The replies of all sites to a question of one kind, in their order."""
        return self._gathered.ask(kind, content=content, n_cells=n_cells)

    def array(self, place: int, reply: Reply, name: str, *, dtype: str, size: int) -> Any:
        """An array of a reply, refused if it is not what was asked for."""
        return self._gathered.exchange.array(place, reply, name, dtype=dtype, size=size)

    def fault(self, place: int, problem: str) -> SiteError:
        """The error for a reply whose content cannot be used."""
        return self._gathered.exchange.fault(place, problem)

    def scout(self) -> Table:
        """Rows drawn from a network fitted to the graph that the sites vote for."""
        self._gathered.check_search()
        if self._scout is None:
            self._scout = scout_of(self)
        return self._scout

    def evaluated(
        self, net: Network, target: str, *, positive: str | None, n_bins: int
    ) -> Evaluation:
        """How well a network predicts at the sites; see ``cs.classify.evaluate_network``."""
        return evaluated(self, net, target, positive=positive, n_bins=n_bins)

    def close(self) -> None:
        """Close the connections to the sites."""
        self._gathered.exchange.close()

    def __repr__(self) -> str:
        names = _check.listed(self.agreement.names)
        return f"Federation({self.agreement.study!r}, mode {self.mode!r}: {names})"


_ABOUT = {
    "secure": (
        "The sites answered under masks (mode 'secure'), so their rows were taken together. Counts "
        "of each site (mode 'exact' or 'intervals') would have let scores and tables tell sites "
        "apart: cs.BHD(), cs.HDMCS(), cs.HDC() by source.",
    ),
    "intervals": (
        "Small counts came as ranges (mode 'intervals') and were estimated within them, so scores "
        "and tables are not to the digit those of all rows in one place.",
    ),
    "exact": (),
}


def federation(
    sites: Iterable[Site | str | os.PathLike[str] | Way],
    *,
    study: str,
    variables: Sequence[str] | None = None,
    mode: str | None = None,
    source: str = "source",
    secret: str | os.PathLike[str] | None = None,
    seconds: float = 60.0,
) -> Federation:
    """Sites as one engine: ``learn``, ``fit``, ``score`` and the like take it for rows.

    Parameters
    ----------
    sites
        Sites in this process; or where they are: ``https://`` addresses and folders; or transports
        of one's own with ``place`` and ``ask(data, limit, seconds)``.
    study
        The name of the study. Its sites, variables and mode are fixed once they are agreed on.
    variables
        What the study is about; by default what all sites have. Sites that have different variables
        are refused unless this says which.
    mode
        How counts leave: by default ``"exact"`` if all sites give that, else ``"secure"``, else
        ``"intervals"``.
    source
        The name of the source variable, whose states are the sites.
    secret
        The folder with the certificates of the coordinator, for ``https://`` addresses.
    seconds
        How long to wait for a reply.

    Raises
    ------
    SiteError
        If a site cannot be reached or used.
    RefusalError
        If a site does not take part.

    Examples
    --------
    >>> import consilience as cs
    >>> rows = cs.read({"x": list("aabb") * 10, "y": list("aabb") * 10})
    >>> parts = [cs.sites.Site(rows, cs.sites.Policy(mode="exact"), name=n) for n in ("a", "b")]
    >>> study = federation(parts, study="first")
    >>> cs.learn(study).arcs, study.schema.source.states
    ((('x', 'y'),), ('a', 'b'))
    """
    ways = [_way(site, place, secret) for place, site in enumerate(_listed(sites))]
    _check.positive("federation", seconds=seconds)
    exchange = Exchange(ways, seconds)
    try:
        return _agreed(exchange, study, variables, mode, source=source)
    except BaseException:
        exchange.close()
        raise


def _agreed(
    exchange: Exchange,
    study: str,
    variables: Sequence[str] | None,
    mode: str | None,
    *,
    source: str,
) -> Federation:
    """The sites once they have told what they have and agreed on the study."""
    replies = exchange.ask(Request("schema", study), MOST_HEADER // 8)
    told = [_about_itself(exchange, place, reply) for place, reply in enumerate(replies)]
    names = _names(told)
    exchange.names = list(names)
    limits = [limits_of(one) for one in told]
    chosen = _mode(mode, names, limits)
    agreement = Agreement(
        study,
        tuple(zip(names, [one.key if chosen == "secure" else "" for one in limits], strict=True)),
        _variables(names, told, variables),
        chosen,
        max(one.scale for one in limits),
    )
    asked = Request("study", study, content=agreement.to_content())
    agreed = exchange.ask(asked, MOST_HEADER // 8)
    last = [_last_round(exchange, place, reply) for place, reply in enumerate(agreed)]
    n_rows = [
        reply.rows * agreement.scale // one.scale for reply, one in zip(agreed, limits, strict=True)
    ]
    gathered = Gathered(agreement, exchange, limits, n_rows, max(last))
    return Federation(gathered, None if chosen == "secure" else source)


def _listed(sites: Any) -> list[Any]:
    if isinstance(sites, str) or not isinstance(sites, Iterable):
        raise InputError(f"federation: sites must be a list, got {sites!r}.", parameter="sites")
    listed = list(sites)
    if len(listed) < 2:
        raise InputError(f"federation: at least two sites are needed, got {len(listed)}.")
    return listed


def _way(site: Any, place: int, secret: str | os.PathLike[str] | None) -> Way:
    if isinstance(site, Site):
        return InProcess(site, site.name or f"site {place + 1}")
    if isinstance(site, str) and site.startswith("https://"):
        if secret is None:
            raise InputError(
                f"federation: {site!r} is asked over HTTPS, where both sides show a certificate. "
                "Give the folder of the coordinator's: secret='keys/'.",
                parameter="secret",
            )
        return Https(site, secret)
    if isinstance(site, str | os.PathLike):
        if str(site).startswith("http://"):
            raise InputError(f"federation: {site!r} is not safe; use https://.", site=str(site))
        return Folder(Path(site))
    if hasattr(site, "ask") and hasattr(site, "place"):
        way: Way = site
        return way
    raise InputError(
        "federation: a site must be a Site, an https:// address, a folder or a transport, got a "
        f"{type(site).__name__}.",
        parameter="sites",
    )


def _about_itself(exchange: Exchange, place: int, reply: Reply) -> Content:
    """What a site tells about itself."""
    return Content.of(dict(reply.content), f"site {exchange.names[place]!r}", "the reply")


def _names(told: Sequence[Content]) -> list[str]:
    names = [one.take("name", str) or f"site {place + 1}" for place, one in enumerate(told)]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise SiteError(
            f"two sites are called {twice!r}. Give each a name of its own: Site(rows, name=...).",
            site=twice,
        )
    return names


def _mode(mode: str | None, names: Sequence[str], limits: Sequence[SiteLimits]) -> str:
    """The mode that all sites give."""
    common = set.intersection(*({*one.modes} for one in limits))
    wanted = ("exact", "secure", "intervals") if mode is None else (mode,)
    for one in wanted:
        if one in common:
            return one
    each = "; ".join(
        f"{name!r}: {_check.listed(one.modes)}" for name, one in zip(names, limits, strict=True)
    )
    raise RefusalError(
        f"the sites give counts in no mode in common that is asked for ({each}). The mode is the "
        "choice of each site's policy: masks and ranges do not go together.",
        code="mode",
    )


def _variables(
    names: Sequence[str], told: Sequence[Content], wanted: Sequence[str] | None
) -> dict[str, Variable]:
    """The variables of the study with all states that some site has."""
    each = {name: variables_from(one, "variables") for name, one in zip(names, told, strict=True)}
    if wanted is not None:
        _check.names("federation", variables=wanted)
        for variables in each.values():
            _check.known("variable", wanted, variables)
        each = {name: {n: variables[n] for n in wanted} for name, variables in each.items()}
    every = dict.fromkeys(name for variables in each.values() for name in variables)
    for site, variables in each.items():
        lacking = [name for name in every if name not in variables]
        if lacking:
            common = [name for name in every if all(name in one for one in each.values())]
            raise DataError(
                f"site {site!r} does not give {_check.listed(lacking)}, which others do. Sites "
                "must have the same variables: choose among those in common with variables= "
                f"({_check.listed(common)}). Arcs between variables that no site has together "
                "would take rows that are linked across sites, which this protocol does not do.",
                site=site,
            )
    return united_variables(each)


def _last_round(exchange: Exchange, place: int, reply: Reply) -> int:
    try:
        return int(_about_itself(exchange, place, reply).take("last_round", int))
    except ConsilienceError as problem:
        raise exchange.fault(place, problem) from problem
