"""For the tests of other projects: a pytest plugin that gives them a real cluster.

    def test_my_pipeline(tidelog_cluster):
        with Producer(bootstrap_servers=tidelog_cluster.bootstrap_servers) as producer:
            ...

The plugin is there once Tidelog is installed (with its extra `local`). Nothing is started before a test asks for it.
"""
