"""A page by Django, a project in one file: see django.conf. It knows nothing of
apppoold(8)."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import re_path

settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"])


def page(request):
    return HttpResponse(
        f"process {os.getpid()}: {request.path}\n", content_type="text/plain")


urlpatterns = [re_path("", page)]
application = get_wsgi_application()
