"""The public names of the package and their homes; :mod:`consilience._lazy` reads them."""

from consilience import (
    averaging as averaging,
    causal as causal,
    classify as classify,
    data as data,
    dynamic as dynamic,
    engines as engines,
    estimators as estimators,
    files as files,
    fusion as fusion,
    gaps as gaps,
    independence as independence,
    inference as inference,
    latent as latent,
    scores as scores,
    searches as searches,
    simulate as simulate,
    sites as sites,
)
from consilience.answers.answer_intervals import (
    intervals as intervals,
)
from consilience.answers.findings import (
    conflict as conflict,
    explain as explain,
)
from consilience.answers.next_questions import (
    information_value as information_value,
)
from consilience.answers.sensitivities import (
    sensitivity as sensitivity,
)
from consilience.answers.source_differences import (
    differences as differences,
)
from consilience.averaging.model_averaging import (
    average as average,
)
from consilience.classify.classifiers import (
    NaiveBayesClassifier as NaiveBayesClassifier,
    NetworkClassifier as NetworkClassifier,
    TANClassifier as TANClassifier,
)
from consilience.classify.cross import (
    cross_evaluate as cross_evaluate,
)
from consilience.classify.measures import (
    evaluate as evaluate,
)
from consilience.comparison import (
    compare_graphs as compare_graphs,
)
from consilience.data.discretize import (
    Cuts as Cuts,
    Quantiles as Quantiles,
    discretize as discretize,
)
from consilience.data.read import (
    read as read,
)
from consilience.data.table import (
    Table as Table,
)
from consilience.data.variable import (
    Schema as Schema,
    Variable as Variable,
)
from consilience.discovery import (
    learn as learn,
    node_scores as node_scores,
    score as score,
    search as search,
)
from consilience.distributions.categorical import (
    Categorical as Categorical,
)
from consilience.distributions.linear_gaussian import (
    LinearGaussian as LinearGaussian,
)
from consilience.distributions.logistic import (
    Logistic as Logistic,
)
from consilience.errors import (
    ConsilienceError as ConsilienceError,
)
from consilience.files.registry import (
    load as load,
    save as save,
)
from consilience.fusing import (
    fuse as fuse,
)
from consilience.graph.cpdag import (
    CPDAG as CPDAG,
)
from consilience.graph.dag import (
    DAG as DAG,
)
from consilience.graph.distance import (
    confusion as confusion,
    shd as shd,
)
from consilience.graph.random import (
    random_dag as random_dag,
)
from consilience.incomplete.em import (
    EM as EM,
    em as em,
)
from consilience.incomplete.imputation import (
    impute as impute,
)
from consilience.incomplete.structural_em import (
    StructuralEM as StructuralEM,
)
from consilience.inference.event import (
    Event as Event,
)
from consilience.inference.evidence import (
    Likelihood as Likelihood,
    Soft as Soft,
)
from consilience.inference.expectation import (
    expected_counts as expected_counts,
)
from consilience.inference.explanations import (
    most_probable as most_probable,
)
from consilience.inference.precision_matrix import (
    partial_correlations as partial_correlations,
)
from consilience.inference.queries import (
    log_probability as log_probability,
)
from consilience.inference.relative_entropy import (
    entropy as entropy,
    kl_divergence as kl_divergence,
)
from consilience.latent.class_models import (
    latent_classes as latent_classes,
)
from consilience.latent.influence import (
    influence as influence,
)
from consilience.latent.number_of_states import (
    hidden_states as hidden_states,
)
from consilience.learning import (
    AvailableCases as AvailableCases,
    fit as fit,
)
from consilience.network.factor import (
    Factor as Factor,
)
from consilience.network.mixed_belief import (
    MixedBelief as MixedBelief,
)
from consilience.network.mixture import (
    Mixture as Mixture,
)
from consilience.network.network import (
    Network as Network,
)
from consilience.parameters.chain import (
    HDC as HDC,
)
from consilience.parameters.dirichlet import (
    Dirichlet as Dirichlet,
)
from consilience.parameters.hierarchical import (
    HDMCS as HDMCS,
    HDMJS as HDMJS,
    HDS as HDS,
)
from consilience.parameters.maximum_likelihood import (
    MLE as MLE,
)
from consilience.parameters.pooling import (
    Pooled as Pooled,
    Separate as Separate,
)
from consilience.parameters.strength import (
    Gamma as Gamma,
    PerState as PerState,
)
from consilience.parameters.uncertainty import (
    draws as draws,
)
from consilience.show.explorer.exploring import (
    explore as explore,
)
from consilience.show.report import (
    report as report,
)
from consilience.show.side_by_side import (
    beside as beside,
)
from consilience.show.views import (
    plot as plot,
    svg as svg,
)
from consilience.show.widgets import (
    widget as widget,
)
from consilience.simulate.networks import (
    random_network as random_network,
)
from consilience.statistics.counts import (
    Counts as Counts,
)
from consilience.statistics.engines.scans import (
    scan as scan,
)
from consilience.statistics.engines.storing import (
    store as store,
)
from consilience.statistics.family import (
    Family as Family,
)
from consilience.statistics.gather import (
    count as count,
    moments as moments,
)
from consilience.statistics.moments import (
    Moments as Moments,
)
from consilience.structure.naive_bayes import (
    naive_bayes as naive_bayes,
)
from consilience.structure.scores.bayesian import (
    BDeu as BDeu,
)
from consilience.structure.scores.likelihood import (
    AIC as AIC,
    BIC as BIC,
)
from consilience.structure.scores.source_scores import (
    BHD as BHD,
)
from consilience.structure.searches.exact import (
    Exact as Exact,
)
from consilience.structure.searches.ges import (
    GES as GES,
)
from consilience.structure.searches.hill_climb import (
    HillClimb as HillClimb,
)
from consilience.structure.searches.pc import (
    PC as PC,
)
from consilience.structure.tan import (
    tan as tan,
)

__version__: str
