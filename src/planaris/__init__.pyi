from planaris import bounds as bounds
from planaris import cuts as cuts
from planaris import embed as embed
from planaris import generate as generate
from planaris import io as io
from planaris import matching as matching
from planaris import models as models
from planaris import planar as planar
from planaris import reference as reference
from planaris import relax as relax
from planaris import result as result
from planaris import treewidth as treewidth
from planaris import verify as verify
from planaris.embed import Embedding as Embedding
from planaris.errors import PlanarisError as PlanarisError
from planaris.infer import domain_wall as domain_wall
from planaris.infer import ground_state as ground_state
from planaris.infer import ground_state_entropy as ground_state_entropy
from planaris.infer import log_partition as log_partition
from planaris.infer import marginals as marginals
from planaris.infer import sample as sample
from planaris.infer import thermodynamics as thermodynamics
from planaris.models import IsingModel as IsingModel
from planaris.models import MarkovRandomField as MarkovRandomField
from planaris.planar import Plan as Plan
from planaris.planar import plan as plan

__version__: str
