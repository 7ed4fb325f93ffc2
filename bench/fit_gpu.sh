#!/usr/bin/env bash
# Everything that bench/fit.py measures on a card, in less than eight minutes: bench/fit_gpu.sh OUT
# The predictions are in bench/results/ before. Each result is written as soon as it is there.
set -u
out=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/.." || exit 2
export PYTHONPATH="$PWD/src${PYTHONPATH:+:$PYTHONPATH}"
python=${PYTHON:-python3}
most=475

stage() { # name, its most seconds, command
  local name=$1 own=$2 left=$((most - SECONDS))
  shift 2
  if ((left < 10)); then echo "== $name: no time left" | tee -a "$out/log.txt"; return; fi
  echo "== $name ($SECONDS s)" | tee -a "$out/log.txt"
  timeout -k 5 $((own < left ? own : left)) "$@" >>"$out/log.txt" 2>&1 || echo "== $name: exit code $?" | tee -a "$out/log.txt"
}

smoke() { # name, arguments of the script
  local name=$1
  shift
  stage "measure: $name" 60 "$python" -m premortem fit --quick --measure --device h200 --seconds 50 \
    --json "$out/fit-smoke-$name.json" bench/fit_smoke.py "$@"
}

stage fresh 260 "$python" bench/fit.py measure --half fresh --json "$out/fit-measured-fresh.json"
stage verdicts 130 "$python" bench/fit.py verdicts --json "$out/fit-verdicts-measured.json"
smoke plain
stage scaler 60 "$python" bench/fit.py measure resnet50_channels_last_fp16 translation_fp16_scaler \
  diffusion_fp16_checkpointed hub_bert_fp16_scaler --json "$out/fit-measured-scaler.json"
stage alive 45 "$python" bench/fit.py alive video_restoration_checkpointed_bf16 tagger_bidirectional_bf16 \
  --json "$out/fit-alive.json"
smoke oom --batch-size 20000
smoke raises --fail-at 2
echo "== done ($SECONDS s)" | tee -a "$out/log.txt"
