"""The one way to start the user's script apart: `ScriptRun(script, plan)`.

run.py              the verb's side: sends orders, reads results, ends everything
keeper.py           a process between the two: forks the script's process for each order, and leaves none behind
script_process.py   the script's process: into the sandbox, then the plan, then out without a trace
"""
