"""The program that is shipped: of RW_SHIPPED (tests/CMakeLists.txt), else the one that is built. It makes what a test asks about, and answers where
something else is tested; golden.* run the same commands under the sanitizers."""
import os


def shipped(build):
    """rocewatch of RW_SHIPPED, for a program of the build directory @build."""
    beside = os.path.join(build, "shipped")
    return os.path.join(os.path.realpath(beside if os.path.isdir(beside) else build), "rocewatch")
