"""Makes nuts_hier_bayes.json: the posterior of Carpenter's model by NUTS, z summed out.

Run by hand in an environment of its own (pip install numpyro), never by the tests:

    python tests/oracle/make_nuts_fixture.py tests/oracle/nuts_hier_bayes.json

The data are made here and kept in the file, so that the fixture depends on nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, init_to_value

jax.config.update("jax_enable_x64", True)
numpyro.set_host_device_count(2)

TOPICS, PAIRS, ASSESSORS, VOTES = 6, 120, 16, 5


def make_data(seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    topic = np.arange(PAIRS) % TOPICS
    prevalence = random.beta(4, 3, TOPICS)
    z = (random.random(PAIRS) < prevalence[topic]).astype(int)
    right = np.stack([random.beta(6, 2, ASSESSORS), random.beta(8, 2, ASSESSORS)])
    pair = np.repeat(np.arange(PAIRS), VOTES)
    assessor = np.concatenate(
        [random.choice(ASSESSORS, VOTES, replace=False) for _ in range(PAIRS)]
    )
    true = z[pair]
    hit = random.random(len(pair)) < right[true, assessor]
    grade = np.where(hit, true, 1 - true)
    columns = {"topic": topic, "pair": pair, "assessor": assessor, "grade": grade, "z": z}
    return {name: column.tolist() for name, column in columns.items()}


def population(name: str, size: int, phi: Any) -> Any:
    excess = numpyro.sample(f"log_kappa_{name}", dist.Exponential(1.5))
    kappa = numpyro.deterministic(f"kappa_{name}", 0.1 * jnp.exp(excess))
    with numpyro.plate(f"of_{name}", size):
        return numpyro.sample(name, dist.Beta(kappa * phi, kappa * (1 - phi)))


def model(topic: Any, pair: Any, assessor: Any, grade: Any) -> None:
    phi = numpyro.sample("phi_prevalence", dist.Uniform(0, 1))
    prevalence = population("prevalence", TOPICS, phi)
    first = numpyro.sample("phi_specificity", dist.Uniform(0, 1))
    share = numpyro.sample("share", dist.Uniform(0, 1))
    second = numpyro.deterministic("phi_sensitivity", 1 - first + first * share)
    numpyro.factor("flat on phi_0 + phi_1 > 1", jnp.log(first))
    specificity = population("specificity", ASSESSORS, first)
    sensitivity = population("sensitivity", ASSESSORS, second)
    says = jnp.where(grade == 1, jnp.log(sensitivity[assessor]), jnp.log1p(-sensitivity[assessor]))
    other = jnp.where(grade == 0, jnp.log(specificity[assessor]), jnp.log1p(-specificity[assessor]))
    one = jnp.log(prevalence[topic]) + jax.ops.segment_sum(says, pair, PAIRS)
    zero = jnp.log1p(-prevalence[topic]) + jax.ops.segment_sum(other, pair, PAIRS)
    numpyro.deterministic("relevant", jax.nn.sigmoid(one - zero))
    numpyro.factor("judgements", jnp.logaddexp(one, zero).sum())


def main(path: Path) -> None:
    data = make_data(7)
    arrays = {name: jnp.array(data[name]) for name in ("topic", "pair", "assessor", "grade")}
    start = {  # in the mode where assessors are honest, as the vote says
        **{f"phi_{name}": 0.7 for name in ("prevalence", "specificity")},
        "share": 0.7,
        "prevalence": jnp.full(TOPICS, 0.5),
        **{name: jnp.full(ASSESSORS, 0.75) for name in ("specificity", "sensitivity")},
    }
    sampler = MCMC(
        NUTS(model, target_accept_prob=0.95, init_strategy=init_to_value(values=start)),
        num_warmup=1500,
        num_samples=6000,
        num_chains=2,
        progress_bar=False,
    )
    sampler.run(jax.random.key(1), **arrays)
    kept = sampler.get_samples()
    posterior = {}
    for name in (
        "phi_prevalence",
        "phi_specificity",
        "phi_sensitivity",
        "kappa_prevalence",
        "kappa_specificity",
        "kappa_sensitivity",
        "prevalence",
        "specificity",
        "sensitivity",
        "relevant",
    ):
        values = np.asarray(kept[name])
        if name.startswith("kappa"):
            values = np.log(values)
        posterior[name] = {
            "mean": np.round(values.mean(axis=0), 5).tolist(),
            "sd": np.round(values.std(axis=0), 5).tolist(),
        }
    sampler.print_summary()
    about = "NumPyro NUTS, 2 chains x 6000 draws; kappa as log kappa"
    path.write_text(json.dumps({"about": about, "data": data, "posterior": posterior}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
