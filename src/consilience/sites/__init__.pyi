"""The public names of the namespace and their homes; :mod:`consilience._lazy` reads them."""

from consilience.sites.adaptation import (
    NodePrior as NodePrior,
    SharedPrior as SharedPrior,
    adapt as adapt,
    shared_prior as shared_prior,
)
from consilience.sites.certificates import (
    certify as certify,
)
from consilience.sites.confusion import (
    SiteMeasures as SiteMeasures,
    measures as measures,
)
from consilience.sites.federated import (
    Federation as Federation,
    federation as federation,
)
from consilience.sites.https import (
    serving as serving,
)
from consilience.sites.message import (
    Reply as Reply,
    Request as Request,
)
from consilience.sites.policies import (
    Policy as Policy,
)
from consilience.sites.scouting import (
    votes as votes,
)
from consilience.sites.site import (
    Site as Site,
)
from consilience.sites.site_ledger import (
    read_ledger as read_ledger,
)
from consilience.sites.study_record import (
    Round as Round,
    StudyRecord as StudyRecord,
)
