from premortem.detectors.cut_by_the_environment import CutByTheEnvironment
from tests.detectors.faults.cut_by_the_environment import SETTING
from tests.detectors.test_contract import observe


def test_what_limits_the_rows_is_named():
    (finding,) = observe(CutByTheEnvironment(), SETTING)
    assert "`data.max_samples` is 32 in `config.yaml`, line 2" in finding.message
    assert "only 32 rows (400 in the evaluation)" in finding.message
