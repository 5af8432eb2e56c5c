"""What `import qrowd` offers, for editors and type checkers.

Written by `python docs/stub.py`; do not edit.
"""
# ruff: noqa: I001, N816

from qrowd import errors as errors
from qrowd.comparison.anova import Anova as Anova
from qrowd.data.merged import AssessorTable as AssessorTable
from qrowd.comparison.label_measures import Calibration as Calibration
from qrowd.data.sample import Choice as Choice
from qrowd.content.hypothesis import ClusterTest as ClusterTest
from qrowd.simulation.collection import Collection as Collection
from qrowd.comparison.compare import Comparison as Comparison
from qrowd.data.consensus import Consensus as Consensus
from qrowd.comparison.baseline import Contrast as Contrast
from qrowd.comparison.prediction_powered import Corrected as Corrected
from qrowd.budget.couples import Couples as Couples
from qrowd.budget.curves import Curves as Curves
from qrowd.budget.decisions import Decisions as Decisions
from qrowd.quality.detection import Detection as Detection
from qrowd.data.documents import Documents as Documents
from qrowd.data.features import Features as Features
from qrowd.data.merged import Fit as Fit
from qrowd.data.given import Given as Given
from qrowd.quality.independence import Independence as Independence
from qrowd.data.index import Index as Index
from qrowd.comparison.intervals import Intervals as Intervals
from qrowd.data.judgements import Judgements as Judgements
from qrowd.comparison.labels import LabelScores as LabelScores
from qrowd.budget.loop import Loop as Loop
from qrowd.evaluation.measure import Measure as Measure
from qrowd.data.merged import Merged as Merged
from qrowd.data.given import Merger as Merger
from qrowd.data.given import NOTHING as NOTHING
from qrowd.data.given import OrderMerger as OrderMerger
from qrowd.data.orders import Orders as Orders
from qrowd.data.index import Pairs as Pairs
from qrowd.asking.probes import Probes as Probes
from qrowd.data.provenance import Provenance as Provenance
from qrowd.data.qrels import Qrels as Qrels
from qrowd.data.qrels import QrelsSet as QrelsSet
from qrowd.quality.people import Quantity as Quantity
from qrowd.io.release import Release as Release
from qrowd.reporting.parts import Report as Report
from qrowd.comparison.pooling import Reusability as Reusability
from qrowd.data.runs import RunSet as RunSet
from qrowd.data.sample import Sample as Sample
from qrowd.data.scale import Scale as Scale
from qrowd.data.given import ScoreMerger as ScoreMerger
from qrowd.data.scores import Scores as Scores
from qrowd.quality.screening import Screened as Screened
from qrowd.simulation.setting import Setting as Setting
from qrowd.data.qrels import SoftQrels as SoftQrels
from qrowd.data.qrels import SoftQrelsSet as SoftQrelsSet
from qrowd.reporting.study import Study as Study
from qrowd.comparison.systems import SystemComparison as SystemComparison
from qrowd.data.topics import Topics as Topics
from qrowd.comparison.pooling import Unjudged as Unjudged
from qrowd.content.vectors import Vectors as Vectors
from qrowd.budget.worklist import Worklist as Worklist
from qrowd.budget.adjudication import adjudicated as adjudicated
from qrowd.budget.adjudication import adjudication_table as adjudication_table
from qrowd.comparison.baseline import against as against
from qrowd.quality.agreement import agreement as agreement
from qrowd.comparison.anova import anova as anova
from qrowd.quality.assessors import assessors as assessors
from qrowd.content.hypothesis import cluster_test as cluster_test
from qrowd.quality.independence import cohen as cohen
from qrowd.comparison.compare import compare as compare
from qrowd.comparison.systems import compare_systems as compare_systems
from qrowd.budget.adjudication import contested as contested
from qrowd.budget.worklist import contradictions as contradictions
from qrowd.io.export import convert as convert
from qrowd.aggregation.correction import correct as correct
from qrowd.comparison.significance import corrected as corrected
from qrowd.budget.couples import couples as couples
from qrowd.budget.decisions import decisions as decisions
from qrowd.aggregation.verbs import evaluate as evaluate
from qrowd.budget.votes import expected_majority as expected_majority
from qrowd.aggregation.fusion import fuse as fuse
from qrowd.quality.consensus import gain_by_topic as gain_by_topic
from qrowd.registry import get as get
from qrowd.budget.adjudication import gold_hash as gold_hash
from qrowd.budget.votes import gold_minus_majority as gold_minus_majority
from qrowd.quality.people import groups as groups
from qrowd.comparison.significance import holm as holm
from qrowd.quality.independence import independence as independence
from qrowd.aggregation.revision import inform as inform
from qrowd.comparison.intervals import intervals as intervals
from qrowd.aggregation.run_scores import judges as judges
from qrowd.quality.agreement import krippendorff_alpha as krippendorff_alpha
from qrowd.comparison.pooling import leave_out_runs as leave_out_runs
from qrowd.comparison.correlation import max_drop as max_drop
from qrowd.registry import measure as measure
from qrowd.aggregation.verbs import merge as merge
from qrowd.registry import method as method
from qrowd.quality.rankings import order_agreement as order_agreement
from qrowd.quality.rankings import order_checks as order_checks
from qrowd.quality.agreement import pair_agreement as pair_agreement
from qrowd.comparison.significance import paired_test as paired_test
from qrowd.registry import param as param
from qrowd.evaluation.measure import parse_measure as parse_measure
from qrowd.comparison.correlation import places as places
from qrowd.comparison.prediction_powered import ppi_mean as ppi_mean
from qrowd.quality.people import quantity as quantity
from qrowd.evaluation.engine import random_scores as random_scores
from qrowd.comparison.correlation import rbo as rbo
from qrowd.comparison.correlation import rbo_lists as rbo_lists
from qrowd.io.judgements import read_assessors as read_assessors
from qrowd.io.qrels import read_choice as read_choice
from qrowd.io.qrels import read_decisions as read_decisions
from qrowd.io.documents import read_documents as read_documents
from qrowd.io.qrels import read_drawn as read_drawn
from qrowd.io.judgements import read_features as read_features
from qrowd.io.runs import read_groups as read_groups
from qrowd.io.judgements import read_judgements as read_judgements
from qrowd.io.orders import read_orders as read_orders
from qrowd.io.qrels import read_pairs as read_pairs
from qrowd.io.people import read_people as read_people
from qrowd.io.qrels import read_probabilities as read_probabilities
from qrowd.asking.probes import read_probes as read_probes
from qrowd.io.qrels import read_qrels as read_qrels
from qrowd.io.release import read_release as read_release
from qrowd.io.runs import read_runs as read_runs
from qrowd.io.qrels import read_sample as read_sample
from qrowd.io.runs import read_scores as read_scores
from qrowd.io.qrels import read_subtopics as read_subtopics
from qrowd.io.qrels import read_teams as read_teams
from qrowd.io.topics import read_topics as read_topics
from qrowd.io.documents import read_vectors as read_vectors
from qrowd.aggregation.revision import recalibrate as recalibrate
from qrowd.reporting.report import report as report
from qrowd.comparison.correlation import rmse as rmse
from qrowd.comparison.prediction_powered import rogan_gladen as rogan_gladen
from qrowd.registry import rule as rule
from qrowd.budget.sampling_design import sample as sample
from qrowd.data.sample import sample_of as sample_of
from qrowd.io.save import save as save
from qrowd.comparison.labels import score_labels as score_labels
from qrowd.comparison.teams import score_teams as score_teams
from qrowd.quality.screening import screen as screen
from qrowd.simulation.collection import simulate as simulate
from qrowd.quality.pass_chances import simulate_checks as simulate_checks
from qrowd.comparison.correlation import spearman as spearman
from qrowd.reporting.study import study as study
from qrowd.comparison.correlation import tau_a as tau_a
from qrowd.comparison.correlation import tau_ap as tau_ap
from qrowd.comparison.correlation import tau_b as tau_b
from qrowd.comparison.correlation import tau_p as tau_p
from qrowd.content.vectors import tfidf as tfidf
from qrowd.budget.worklist import undecided as undecided
from qrowd.aggregation.correction import uniform_scores as uniform_scores
from qrowd.comparison.pooling import unjudged as unjudged
from qrowd.budget.loop import vote_by_vote as vote_by_vote
from qrowd.content.similarity import with_text as with_text
from qrowd.aggregation.judgements.auto import Automatic as Automatic
from qrowd.aggregation.scores.supervised import RegressionAware as RegressionAware
from qrowd.aggregation.scores.supervised import SupervisedAware as SupervisedAware
from qrowd.aggregation.scores.supervised import TunedAware as TunedAware
from qrowd.aggregation.scores.unsupervised import UnsupervisedAware as UnsupervisedAware
from qrowd.aggregation.scores.unsupervised import UniformAware as UniformAware
from qrowd.aggregation.judgements.binmv import BinomialVote as BinomialVote
from qrowd.aggregation.orders.borda import Borda as Borda
from qrowd.aggregation.orders.crowd_bt import CrowdBT as CrowdBT
from qrowd.aggregation.judgements.ds import DawidSkene as DawidSkene
from qrowd.aggregation.judgements.ebcc import EBCC as EBCC
from qrowd.aggregation.judgements.em_gauss import GaussianEM as GaussianEM
from qrowd.aggregation.orders.gauss_rank import GaussRank as GaussRank
from qrowd.aggregation.judgements.geann import Geann as Geann
from qrowd.aggregation.judgements.glad import GLAD as GLAD
from qrowd.aggregation.judgements.gold_vote import GoldMajorityVote as GoldMajorityVote
from qrowd.aggregation.judgements.gp import GaussianProcess as GaussianProcess
from qrowd.aggregation.judgements.hier_bayes import HierBayes as HierBayes
from qrowd.aggregation.judgements.hier_vb import HierVB as HierVB
from qrowd.aggregation.judgements.joint import Joint as Joint
from qrowd.aggregation.judgements.kos import KOS as KOS
from qrowd.aggregation.judgements.m3v import MaxMarginVote as MaxMarginVote
from qrowd.aggregation.judgements.mace import MACE as MACE
from qrowd.aggregation.judgements.neighbours import EnoughVotes as EnoughVotes
from qrowd.aggregation.judgements.mmsr import MMSR as MMSR
from qrowd.aggregation.judgements.mv import MajorityVote as MajorityVote
from qrowd.aggregation.judgements.neighbours import NearestNeighbourVote as NearestNeighbourVote
from qrowd.aggregation.orders.noisy_bt import NoisyBT as NoisyBT
from qrowd.aggregation.judgements.coins import OneCoin as OneCoin
from qrowd.aggregation.orders.plackett_luce import PlackettLuce as PlackettLuce
from qrowd.aggregation.judgements.binmv import QuantisedBinomialVote as QuantisedBinomialVote
from qrowd.aggregation.judgements.skierarchy import Skierarchy as Skierarchy
from qrowd.aggregation.judgements.stack import Stacking as Stacking
from qrowd.aggregation.judgements.turkrank import TurkRank as TurkRank
from qrowd.aggregation.judgements.coins import TwoCoin as TwoCoin
from qrowd.aggregation.judgements.wawa import Wawa as Wawa
from qrowd.aggregation.judgements.binmv import WeightedBinomialVote as WeightedBinomialVote
from qrowd.aggregation.judgements.wmv import DomainAdaptedVote as DomainAdaptedVote
from qrowd.aggregation.judgements.wmv import IterativeWeightedVote as IterativeWeightedVote
from qrowd.aggregation.judgements.zero_based_skill import ZeroBasedSkill as ZeroBasedSkill
from qrowd.quality.rules import BinaryScore as BinaryScore
from qrowd.quality.rules import FewJudgements as FewJudgements
from qrowd.quality.rules import GoldAccuracy as GoldAccuracy
from qrowd.quality.rules import Learned as Learned
from qrowd.quality.rules import NdcgScore as NdcgScore
from qrowd.quality.rules import NothingRelevant as NothingRelevant
from qrowd.quality.rules import RandomSpam as RandomSpam
from qrowd.quality.rules import SurelyWorse as SurelyWorse
from qrowd.quality.rules import Suspected as Suspected
from qrowd.quality.rules import TooFast as TooFast
from qrowd.quality.rules import Trust as Trust
from qrowd.quality.rules import UniformSpam as UniformSpam
from qrowd.evaluation.measures.average_precision import AP as _AP
from qrowd.evaluation.measures.diversity import ApIA as _ApIA
from qrowd.evaluation.measures.cascade import BPM as _BPM
from qrowd.evaluation.measures.average_precision import Bpref as _Bpref
from qrowd.evaluation.measures.gain import CG as _CG
from qrowd.evaluation.measures.cascade import Compat as _Compat
from qrowd.evaluation.measures.gain import DCG as _DCG
from qrowd.evaluation.measures.cascade import ERR as _ERR
from qrowd.evaluation.measures.diversity import ErrIA as _ErrIA
from qrowd.evaluation.measures.gain import G as _G
from qrowd.evaluation.measures.average_precision import GMAP as _GMAP
from qrowd.evaluation.measures.average_precision import GMBpref as _GMBpref
from qrowd.evaluation.measures.average_precision import IAP as _IAP
from qrowd.evaluation.measures.cascade import INSQ as _INSQ
from qrowd.evaluation.measures.cascade import INST as _INST
from qrowd.evaluation.measures.average_precision import IPrec as _IPrec
from qrowd.evaluation.measures.precision import Judged as _Judged
from qrowd.evaluation.measures.diversity import NRBP as _NRBP
from qrowd.evaluation.measures.sets import NumNonrelRet as _NumNonrelRet
from qrowd.evaluation.measures.sets import NumQ as _NumQ
from qrowd.evaluation.measures.sets import NumRel as _NumRel
from qrowd.evaluation.measures.sets import NumRelRet as _NumRelRet
from qrowd.evaluation.measures.sets import NumRet as _NumRet
from qrowd.evaluation.measures.precision import P as _P
from qrowd.evaluation.measures.diversity import PIA as _PIA
from qrowd.evaluation.measures.precision import R as _R
from qrowd.evaluation.measures.cascade import RBP as _RBP
from qrowd.evaluation.measures.precision import RR as _RR
from qrowd.evaluation.measures.gain import RNDCG as _RNDCG
from qrowd.evaluation.measures.precision import Rprec as _Rprec
from qrowd.evaluation.measures.sets import SetAP as _SetAP
from qrowd.evaluation.measures.sets import SetF as _SetF
from qrowd.evaluation.measures.sets import SetP as _SetP
from qrowd.evaluation.measures.diversity import StRecall as _StRecall
from qrowd.evaluation.measures.precision import Success as _Success
from qrowd.evaluation.measures.sets import Utility as _Utility
from qrowd.evaluation.measures.diversity import AlphaDCG as _AlphaDCG
from qrowd.evaluation.measures.diversity import AlphaNDCG as _AlphaNDCG
from qrowd.evaluation.measures.average_precision import InfAP as _InfAP
from qrowd.evaluation.measures.gain import NDCG as _NDCG
from qrowd.evaluation.measures.gain import NDCGrel as _NDCGrel
from qrowd.evaluation.measures.diversity import NErrIA as _NErrIA
from qrowd.evaluation.measures.diversity import NNRBP as _NNRBP

AP: _AP
AP_IA: _ApIA
BPM: _BPM
Bpref: _Bpref
CG: _CG
Compat: _Compat
DCG: _DCG
ERR: _ERR
ERR_IA: _ErrIA
G: _G
GMAP: _GMAP
GMBpref: _GMBpref
IAP: _IAP
INSQ: _INSQ
INST: _INST
IPrec: _IPrec
Judged: _Judged
NRBP: _NRBP
NumNonrelRet: _NumNonrelRet
NumQ: _NumQ
NumRel: _NumRel
NumRelRet: _NumRelRet
NumRet: _NumRet
P: _P
P_IA: _PIA
R: _R
RBP: _RBP
RR: _RR
RnDCG: _RNDCG
Rprec: _Rprec
SetAP: _SetAP
SetF: _SetF
SetP: _SetP
StRecall: _StRecall
Success: _Success
Utility: _Utility
alpha_DCG: _AlphaDCG
alpha_nDCG: _AlphaNDCG
infAP: _InfAP
nDCG: _NDCG
nDCGrel: _NDCGrel
nERR_IA: _NErrIA
nNRBP: _NNRBP

__version__: str
__all__: list[str]
_HOMES: dict[str, str]
