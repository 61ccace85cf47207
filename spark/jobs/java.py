"""Whether there is a Java that Spark runs on."""

import os
import re
import shutil
import subprocess
from pathlib import Path

LEAST = 17


def java_fault() -> str:
    """Why Spark cannot run here, in one sentence with the way out; empty if it can."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    way_out = f"install one (apt install openjdk-{LEAST}-jre-headless), or name it with JAVA_HOME."
    if java is None or not Path(java).exists():
        return f"Spark needs Java {LEAST} or newer, and there is none: {way_out}"
    told = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(\d+)', told.stderr + told.stdout)
    if found is None or int(found[1]) < LEAST:
        return f"Spark needs Java {LEAST} or newer, and {java} is {found[1] if found else 'not one'}: {way_out}"
    return ""
