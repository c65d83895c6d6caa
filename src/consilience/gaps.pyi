from consilience.incomplete.assessment import (
    GapAssessment as GapAssessment,
    assess_gaps as assess_gaps,
)
from consilience.incomplete.augmentation import (
    Augmentation as Augmentation,
    augment as augment,
)
from consilience.incomplete.chains import (
    bulk_size as bulk_size,
    r_hat as r_hat,
    tail_size as tail_size,
)
from consilience.incomplete.em import (
    EM as EM,
    Convergence as Convergence,
)
from consilience.incomplete.imputation import (
    Imputation as Imputation,
)
from consilience.incomplete.structural_em import (
    StructuralEM as StructuralEM,
)
from consilience.incomplete.variational import (
    VariationalBayes as VariationalBayes,
    VariationalResult as VariationalResult,
    variational as variational,
)
from consilience.learning import (
    AvailableCases as AvailableCases,
)
