"""``consilience site``, a place that keeps its rows; and ``learn --sites``, which asks them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from consilience.cli.common import Refusal, grid_of, print_facts, print_notes, screen, spoken
from consilience.cli.structures import Structure, find_graph
from consilience.cli.terminal import echo

if TYPE_CHECKING:
    import consilience as cs

__all__ = ["check_either", "learn_over_sites", "site", "sites_option"]

sites_option = click.option(
    "--sites",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Learn over sites that keep their rows: a TOML file with study, secret and a table of "
    "sites, each an https:// address or a folder.",
)


@click.group()
def site() -> None:
    """A place that keeps its rows and answers requests for counts."""


@site.command()
@click.argument("data", metavar="DATA")
@click.option("--policy", type=click.Path(path_type=Path, dir_okay=False), required=True)
@click.option("--ledger", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--name", help="What the site is called; by default the name of the file.")
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="Watch a folder.")
@click.option("--once", is_flag=True, help="Answer what is in the folder and end.")
@click.option("--address", default="0.0.0.0:8443", show_default=True, help="For HTTPS.")
@click.option("--certificate", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--key", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--authority", type=click.Path(path_type=Path, dir_okay=False))
@spoken
def serve(data: str, policy: Path, ledger: Path | None, name: str | None, **where: Any) -> None:
    """Answer requests about the rows of DATA, as the policy allows.

    Requests come over HTTPS, where both sides show certificates (--certificate, --key,
    --authority), or as files in a --folder. Every request is in the ledger before it is answered;
    without --ledger it is DATA with the ending .ledger.

    \b
    Examples:
      consilience site serve va.parquet --policy policy.toml --folder exchange/va
      consilience site serve va.csv --policy policy.toml --address 0.0.0.0:8443 \\
        --certificate va.pem --key va.key --authority authority.pem
    """
    import consilience as cs

    book = ledger or Path(data).with_suffix(".ledger")
    rules = cs.sites.Policy.load(policy)
    here = cs.sites.Site(cs.read(data), rules, name=name or Path(data).stem, ledger=book)
    echo(f"site {here.name!r}, mode {rules.mode!r}, ledger {book}", err=True)
    if rules.allows("secure"):
        echo(f"public key {here.public_key}", err=True)
    if where["folder"] is not None:
        echo(f"answering in the folder {where['folder']}", err=True)
        n_answered = here.watch(where["folder"], seconds=0 if where["once"] else None)
        echo(f"{n_answered} requests answered")
        return
    files = {option: where[option] for option in ("certificate", "key", "authority")}
    missing = [f"--{option}" for option, path in files.items() if path is None]
    if missing:
        raise click.UsageError(f"HTTPS needs {', '.join(missing)}; or give --folder.")
    echo(f"answering at https://{where['address']} until interrupted", err=True)
    here.serve(where["address"], **files)


@site.command()
@click.argument("ledger", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--refused", is_flag=True, help="Only what was refused.")
@spoken
def log(ledger: Path, refused: bool) -> None:
    """Print the ledger of a site: who asked for what, and what became of it.

    A ledger that was changed by other hands is an error.

    \b
    Example:
      consilience site log va.ledger --refused
    """
    import consilience as cs

    entries = cs.sites.read_ledger(ledger)
    shown = [one for one in entries if one["what"] == "refused" or not refused]
    rows = [
        (
            one["time"],
            one["what"],
            str(one.get("study", "")),
            str(one.get("round", "")),
            str(one.get("kind", "")),
            str(len(one["families"])) if "families" in one else "",
            str(one.get("asker", "")),
            str(one.get("reason", one.get("purpose", ""))),
        )
        for one in shown
    ]
    header = ("time", "what", "study", "round", "kind", "families", "asker", "why")
    screen().print(grid_of(header, rows))


@site.command()
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.argument("names", nargs=-1, required=True)
@click.option("--host", "hosts", multiple=True, default=("localhost", "127.0.0.1"))
@spoken
def keys(folder: Path, names: tuple[str, ...], hosts: tuple[str, ...]) -> None:
    """Make an authority of your own, and certificates for these names, in a folder.

    \b
    Example:
      consilience site keys keys coordinator va hungary --host va.example --host hungary.example
    """
    import consilience as cs

    cs.sites.certify(folder, names, hosts=hosts)
    echo(f"written to {folder}: authority, {', '.join(names)}. Keep authority.key to yourself.")


def check_either(data: tuple[str, ...], sites: Path | None) -> None:
    """Refuse rows beside sites, and neither of them."""
    if bool(data) == (sites is not None):
        raise click.UsageError("give DATA, or --sites with the file of a study.")


def learn_over_sites(
    path: Path,
    wanted: Structure,
    ess: float | None,
    *,
    output: Path | None,
    estimator: Any,
    gaps: Any,
) -> None:
    """Learn from the sites that a file names, write the model and tell the story."""
    import consilience as cs

    study = _study(path)
    found = find_graph(wanted, ess, study)  # type: ignore[arg-type]
    with screen(stderr=True).status("Fitting"):
        net = cs.fit(found.dag, study, estimator, gaps=gaps)
    if output is not None:
        cs.save(net, output)
    record = study.record
    facts = {
        "study": f"{record.study}, mode {record.mode}",
        "sites": f"{len(record.sites)}: {', '.join(record.sites)}",
        "rows": f"{study.n_rows:,g}",
        "rounds": f"{len(record.rounds):,}",
        "families": f"{record.n_families:,} asked for, {len(record.withheld):,} withheld",
        "bytes": f"{record.bytes_answered:,} from the sites",
        "arcs": f"{len(net.dag.arcs):,}",
        "estimator": net.record.method,
    }
    if output is not None:
        facts["written to"] = str(output)
    print_facts(screen(), facts)
    print_notes([*dict.fromkeys([*found.notes, *net.record.notes])])


def _study(path: Path) -> cs.sites.Federation:
    import tomllib

    import consilience as cs

    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Refusal(f"there is no file {str(path)!r}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise Refusal(f"{path}: {problem}") from None
    known = {"study", "sites", "secret", "mode", "variables", "seconds", "source"}
    places = content.pop("sites", None)
    is_table = isinstance(places, dict) and all(isinstance(one, str) for one in places.values())
    if not is_table or not isinstance(content.get("study"), str) or not {*content} <= known:
        raise Refusal(
            f'{path}: a study has study = "..." and a table [sites] with an address or a folder '
            f"for each site; it may have {', '.join(sorted(known - {'study', 'sites'}))}."
        )
    here = path.parent
    if "secret" in content:
        content["secret"] = here / content["secret"]
    ways = [one if one.startswith("https://") else str(here / one) for one in places.values()]
    return cs.sites.federation(ways, **content)
