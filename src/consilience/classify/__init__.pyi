from consilience.classify.classifiers import (
    NaiveBayesClassifier as NaiveBayesClassifier,
    NetworkClassifier as NetworkClassifier,
    TANClassifier as TANClassifier,
)
from consilience.classify.evaluation import (
    CalibrationCurve as CalibrationCurve,
    Evaluation as Evaluation,
    Gap as Gap,
    Measures as Measures,
)
from consilience.classify.measures import (
    evaluate_network as evaluate_network,
)
from consilience.classify.printed_tables import (
    tables_of as tables_of,
    title_of as title_of,
)
from consilience.classify.results import (
    CrossEvaluation as CrossEvaluation,
)
from consilience.classify.shrinking import (
    Calibrated as Calibrated,
    calibrated_chain as calibrated_chain,
)
from consilience.classify.splits import (
    LearningCurve as LearningCurve,
    LeaveOneSourceOut as LeaveOneSourceOut,
    StratifiedFolds as StratifiedFolds,
)
